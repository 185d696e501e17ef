package io.jrun.train.reducer;

import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The reducer of pipeline stages of which each rank of an axis has the whole parameters. Gradients of micro-batches add
 * up on each rank, and the last backward pass of a stage reduces the sums. The gradient of a parameter that several
 * layers use is reduced when the caller says that it is complete.
 *
 * <p>The parts of a parameter depend on its bucket. Ranks of other axes that have the same parameter must have the same
 * parts, so that a checkpoint can take the states of one of these ranks. Parameters that ranks of another axis divide,
 * and other parameters, are therefore in different buckets.
 */
public final class StageReducer implements StageReplicas {
    private final ReductionGroups groups;
    private final GradientPlacement placement;
    private @Nullable GradientReducer reducer;

    /**
     * A reducer of stages that it gets by {@link #takeOver}.
     *
     * @param axis the ranks with the same stages
     */
    public StageReducer(MeshAxis axis, GradientPlacement placement) {
        this.groups = new ReductionGroups(axis.group());
        this.placement = placement;
    }

    /**
     * The reducer of the gradients.
     *
     * @throws IllegalStateException before {@link #takeOver}
     */
    public GradientReducer reducer() {
        if (reducer == null) {
            throw new IllegalStateException("these stages belong to no PipelineParallel yet: make the pipeline first");
        }
        return reducer;
    }

    @Override
    public Map<Integer, List<PipelineLayer>> takeOver(
            Map<Integer, List<PipelineLayer>> stages, Predicate<Tensor> isTied) {
        StageReplicas.broadcast("StageReducer", groups, stages);
        reducer =
                new GradientReducer(sequences(stages, isTied), groups, ReducerOptions.DEFAULT.withPlacement(placement));
        reducer.setSyncing(false);
        if (placement == GradientPlacement.SHARDED_STATES) {
            reducer.zeroGradients(); // backward passes then add to the buckets in place
        }
        return stages;
    }

    private static List<ReductionSequence> sequences(
            Map<Integer, List<PipelineLayer>> stages, Predicate<Tensor> isTied) {
        Predicate<Tensor> isShared = StageReplicas.sharedParameters(stages, isTied);
        List<ReductionSequence> sequences = new ArrayList<>();
        Set<Long> seen = new HashSet<>();
        Map<String, Tensor> shared = new LinkedHashMap<>();
        for (List<PipelineLayer> layers : new TreeMap<>(stages).values()) {
            Map<String, Tensor> divided = new LinkedHashMap<>();
            Map<String, Tensor> others = new LinkedHashMap<>();
            layers.forEach(layer -> layer.parameters().forEach((name, tensor) -> {
                if (seen.add(TensorMemory.identity(tensor))) {
                    (isShared.test(tensor) ? shared : isDivided(name, tensor) ? divided : others).put(name, tensor);
                }
            }));
            sequences.add(new ReductionSequence(List.of(divided, others), false));
        }
        shared.forEach((name, tensor) -> sequences.add(new ReductionSequence(List.of(Map.of(name, tensor)), true)));
        return sequences;
    }

    private static boolean isDivided(String name, Tensor tensor) {
        return !ShardedTensor.of(name, tensor).divided().isEmpty();
    }

    @Override
    public void backward(Runnable pass, boolean isLast) {
        GradientReducer used = reducer();
        used.requireSound();
        used.requireOptimizer();
        used.setSyncing(isLast);
        try {
            used.passBegins();
            pass.run();
        } catch (RuntimeException e) {
            throw used.failed(e);
        } finally {
            used.setSyncing(false);
        }
    }

    @Override
    public void start(Collection<Tensor> complete) {
        reducer().complete(complete);
    }

    @Override
    public void await() {
        reducer().completeAll();
    }

    @Override
    public ShardedTensor kept(ShardedTensor parameter) {
        return parameter;
    }

    @Override
    public void close() {
        if (reducer != null) {
            reducer.close();
        }
        groups.close();
    }
}
