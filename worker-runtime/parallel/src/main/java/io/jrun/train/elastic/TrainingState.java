package io.jrun.train.elastic;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.comm.elastic.ElasticState;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.ModelState;
import io.jrun.train.checkpoint.OptimizerState;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.mesh.GradientGroup;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The state that a training run needs to continue after a failure: parameters, buffers, the state of the optimizer, the
 * place in the data and the number of steps. The memory of this process holds the present state and a copy, the last
 * commit. A rank that joins later gets the state from another rank. If no rank has a commit, the state comes from a
 * checkpoint ({@link #checkpointed}). Confined to the training thread.
 *
 * @param <M> the model
 * @param <O> the optimizer
 */
public final class TrainingState<M extends Module, O extends Optimizer> implements ElasticState {
    private final M model;
    private final Supplier<O> newOptimizer;
    private final ElasticSampler sampler;
    private final Map<String, Tensor> tensors;
    private final Map<String, Tensor> parameters;
    private final Map<String, Tensor> keptTensors = new LinkedHashMap<>();
    private Map<String, Tensor> keptOptimizer = Map.of();
    private long keptStep;
    private long keptBatches;
    private O optimizer;
    private long step;
    private @Nullable CheckpointSchedule checkpoints;

    /**
     * The state of a new run.
     *
     * @param newOptimizer makes an optimizer of the model's parameters without any step; the program sets options that
     *     change, such as the learning rate, in each step
     */
    public TrainingState(M model, Supplier<O> newOptimizer, ElasticSampler sampler) {
        Libtorch.load();
        this.model = model;
        this.newOptimizer = newOptimizer;
        this.sampler = sampler;
        this.tensors = ModuleTensors.all(model);
        this.parameters = ModuleTensors.parameters(model);
        this.optimizer = newOptimizer.get();
    }

    /**
     * Continues from the newest checkpoint of {@code manager}, if there is one. Rank 0 then writes a checkpoint at the
     * first commit that is {@code everySteps} steps or more after the last checkpoint, and at the next commit after a
     * request ({@link World#checkpointRequested()}). Call this method before {@code Elastic.run}. Every node on which
     * rank 0 may run must see the folder.
     *
     * @param manager of a process that saves alone ({@link CheckpointManager#alone}); the program closes the manager
     * @param everySteps at least 1
     * @throws CheckpointException if the checkpoint is damaged or of another program; at a commit, if a checkpoint
     *     cannot be written
     */
    public TrainingState<M, O> checkpointed(CheckpointManager manager, long everySteps) {
        checkpoints = new CheckpointSchedule(manager, everySteps);
        checkpoints.load(this);
        return this;
    }

    /** The model; always the same object, with the same tensors. */
    public M model() {
        return model;
    }

    /** The optimizer. Each round has a new optimizer. */
    public O optimizer() {
        return optimizer;
    }

    /** The position of the run in its data. */
    public ElasticSampler sampler() {
        return sampler;
    }

    /** The number of steps done. */
    public long step() {
        return step;
    }

    /** Adds one to the number of steps done. */
    public void stepDone() {
        step++;
    }

    /** Sets the numbers of steps done and of batches taken, for example after a checkpoint was loaded. */
    public void goTo(long steps, long batches) {
        step = steps;
        sampler.goTo(batches);
    }

    @Override
    public void save() {
        try (NoGradGuard _ = new NoGradGuard()) {
            tensors.forEach((name, tensor) -> {
                Tensor kept = keptTensors.get(name);
                if (kept == null) {
                    keptTensors.put(name, TensorMemory.own(tensor.clone()));
                } else {
                    kept.copy_(tensor);
                }
            });
        }
        Map<String, Tensor> former = keptOptimizer;
        keptOptimizer = OptimizerState.of(optimizer, parameters);
        former.values().forEach(Tensor::close);
        keptStep = step;
        keptBatches = sampler.taken();
    }

    @Override
    public void restore() {
        ModelState.load(model, keptTensors);
        renewOptimizer(keptOptimizer);
        goTo(keptStep, keptBatches);
    }

    @Override
    public void broadcast(ProcessGroup group, int root) {
        long[] place = {step, sampler.taken()};
        group.broadcast(MemorySegment.ofArray(place), DataType.I64, place.length, root);
        new GradientGroup("TrainingState", group).requireFitsHere(Parameters.of(parameters));
        new TensorCollectives(group).broadcastAll(tensors.values(), root);
        Map<String, Tensor> state = OptimizerState.of(optimizer, parameters);
        if (group.groupRank() != root) {
            state.values().forEach(Tensor::close);
            state = new LinkedHashMap<>();
        }
        TensorList.share(group, root, state);
        new TensorCollectives(group).broadcastAll(state.values(), root);
        if (group.groupRank() != root) {
            renewOptimizer(state);
            goTo(place[0], place[1]);
        }
        state.values().forEach(Tensor::close);
    }

    @Override
    public void committed(World world) {
        if (checkpoints != null && world.rank() == 0) {
            checkpoints.saveIfDue(this, world.checkpointRequested());
        }
    }

    /** Copies of the optimizer's state by name; the caller frees them. */
    Map<String, Tensor> optimizerState() {
        return OptimizerState.of(optimizer, parameters);
    }

    /** Gives the optimizer a state that was saved. */
    void loadOptimizer(Map<String, Tensor> state) {
        renewOptimizer(state);
    }

    /** Makes a new optimizer: an optimizer that has state cannot drop it. */
    private void renewOptimizer(Map<String, Tensor> state) {
        O renewed = newOptimizer.get();
        OptimizerState.load(renewed, parameters, state);
        optimizer.close();
        optimizer = renewed;
    }
}
