package io.jrun.train.reducer;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.GradientGroup;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.tensor.TensorMemory;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.bytedeco.pytorch.Tensor;

/**
 * The ranks that hold the same stages and train on other samples: they average the gradients, and may share the
 * parameters. {@code PipelineParallel} calls all methods in the same order on all these ranks.
 */
public interface StageReplicas extends AutoCloseable {
    /** No other rank has the same stages. */
    StageReplicas NONE = new NoReplicas();

    /**
     * Gives all ranks equal parameters, before the first step.
     *
     * @param stages the layers of each stage of this rank
     * @param isTied whether another stage uses a parameter too
     * @return the layers to compute with
     */
    Map<Integer, List<PipelineLayer>> takeOver(Map<Integer, List<PipelineLayer>> stages, Predicate<Tensor> isTied);

    /** Whether several layers of these stages, or another stage, use a parameter; for {@link #takeOver}. */
    static Predicate<Tensor> sharedParameters(Map<Integer, List<PipelineLayer>> stages, Predicate<Tensor> isTied) {
        Map<Long, Integer> uses = new HashMap<>();
        stages.values()
                .forEach(layers -> layers.forEach(layer -> layer.parameters()
                        .values()
                        .forEach(tensor -> uses.merge(TensorMemory.identity(tensor), 1, Integer::sum))));
        return tensor -> isTied.test(tensor) || uses.getOrDefault(TensorMemory.identity(tensor), 0) > 1;
    }

    /**
     * Gives the ranks that hold the same parameters the values of the first of them. Collective.
     *
     * @param user the implementation, for messages
     * @throws IllegalArgumentException if the gradients must not be reduced over the groups, see {@link GradientGroup}
     */
    static void broadcast(String user, ReductionGroups groups, Map<Integer, List<PipelineLayer>> stages) {
        Map<Long, Tensor> parameters = new LinkedHashMap<>();
        new TreeMap<>(stages)
                .values()
                .forEach(layers -> layers.forEach(layer -> layer.parameters()
                        .values()
                        .forEach(tensor -> parameters.put(TensorMemory.identity(tensor), tensor))));
        requireFits(user, groups.all(), stages);
        groups.broadcast(parameters.values());
    }

    /** Throws if gradients of some stages must not be averaged over a group, see {@link GradientGroup}. Collective. */
    static void requireFits(String user, ProcessGroup group, Map<Integer, List<PipelineLayer>> stages) {
        Map<String, Tensor> named = new LinkedHashMap<>();
        new TreeMap<>(stages).values().forEach(layers -> layers.forEach(layer -> named.putAll(layer.parameters())));
        new GradientGroup(user, group).requireReduces(Parameters.of(named));
    }

    /**
     * Runs a backward pass of a stage.
     *
     * @param isLast whether the gradients of the stage are complete afterwards, except those of tied parameters
     */
    void backward(Runnable pass, boolean isLast);

    /** Starts the reduction of the gradients of some parameters, the same on all ranks. They are complete. */
    void start(Collection<Tensor> parameters);

    /** Waits until all gradients are reduced, also those for which {@link #start} was not called. */
    void await();

    /** The part of a parameter that this rank keeps, with the place of the gradient. */
    ShardedTensor kept(ShardedTensor parameter);

    /** The pipeline has ended. The layers of this rank stay usable. */
    @Override
    void close();
}
