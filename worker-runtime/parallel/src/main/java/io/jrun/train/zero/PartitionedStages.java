package io.jrun.train.zero;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardedNorm;
import io.jrun.train.pipeline.PipelineLayer;
import io.jrun.train.pipeline.StageReplicas;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Pipeline stages of which the ranks with the same stages share the optimizer's states: stages 1 and 2 of ZeRO. Each
 * rank has the whole parameters of its stages. Gradients of micro-batches add up on each rank, and the last backward
 * pass of a stage reduces the sums. In stage 1 each rank keeps the memory of whole gradients. In stage 2 a bucket of
 * gradients is freed as soon as it is reduced, and each rank keeps the means of its parts. Use with
 * {@link ZeroOptimizer#ofStages}, which is made after the pipeline.
 */
public final class PartitionedStages implements StageReplicas, AutoCloseable {
    private final ProcessGroup group;
    private final ShardedState parameters;
    private final boolean keepsGradients;
    private @Nullable StageReductions reductions;

    private PartitionedStages(ProcessGroup group, ShardedState parameters, boolean keepsGradients) {
        this.group = group;
        this.parameters = parameters;
        this.keepsGradients = keepsGradients;
    }

    /**
     * Stage 1: the ranks share the states.
     *
     * @param group the ranks with the same stages
     * @param parameters this rank's parts of the parameters of the model along the other axes of the mesh
     */
    public static PartitionedStages stageOne(ProcessGroup group, ShardedState parameters) {
        return new PartitionedStages(group, parameters, true);
    }

    /** Stage 2: the ranks share the gradients too. The arguments are those of {@link #stageOne}. */
    public static PartitionedStages stageTwo(ProcessGroup group, ShardedState parameters) {
        return new PartitionedStages(group, parameters, false);
    }

    ProcessGroup group() {
        return group;
    }

    ShardedState parameters() {
        return parameters;
    }

    BucketGradients gradients() {
        return reductions().gradients();
    }

    private StageReductions reductions() {
        if (reductions == null) {
            throw new IllegalStateException("these stages belong to no PipelineParallel yet: make the pipeline first");
        }
        return reductions;
    }

    /** Sets the gradients to zero. */
    public void zeroGradients() {
        gradients().clear();
    }

    @Override
    public Map<Integer, List<PipelineLayer>> takeOver(
            Map<Integer, List<PipelineLayer>> stages, Predicate<Tensor> isTied) {
        StageReplicas.broadcast("PartitionedStages", group, stages);
        StageBuckets buckets = new StageBuckets(stages, isTied, this::isDivided, group.size());
        BucketGradients gradients = keepsGradients
                ? new LastingGradients(buckets.partitions(), group.groupRank())
                : new PassingGradients(buckets.partitions(), group.groupRank());
        reductions = new StageReductions(buckets, gradients, group);
        return stages;
    }

    private boolean isDivided(String name) {
        return Objects.requireNonNull(parameters.parameters().get(name), name).placements().values().stream()
                .anyMatch(Shard.class::isInstance);
    }

    @Override
    public void backward(Runnable pass, boolean isLast) {
        reductions().backward(pass, isLast);
    }

    @Override
    public void start(Collection<Tensor> complete) {
        reductions().begin(complete);
    }

    @Override
    public void await() {
        reductions().finish();
    }

    @Override
    public Tensor gradient(Tensor parameter) {
        return reductions().gradient(parameter);
    }

    @Override
    public double[] combine(double[] norms) {
        return ShardedNorm.ofWhole(norms, Collections.nCopies(norms.length, List.of(group)));
    }

    /** Removes the hooks and frees the gradients. */
    @Override
    public void close() {
        if (reductions != null) {
            reductions.close();
        }
    }
}
