package io.jrun.train.zero;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.pipeline.PipelineLayer;
import io.jrun.train.pipeline.StageReplicas;
import java.util.Collection;
import java.util.List;
import java.util.Map;
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
    private final boolean keepsGradients;
    private @Nullable StageReductions reductions;
    private @Nullable PartGradients parts;

    private PartitionedStages(ProcessGroup group, boolean keepsGradients) {
        this.group = group;
        this.keepsGradients = keepsGradients;
    }

    /**
     * Stage 1: the ranks share the states.
     *
     * @param axis the ranks with the same stages
     */
    public static PartitionedStages stageOne(MeshAxis axis) {
        return new PartitionedStages(axis.group(), true);
    }

    /** Stage 2: the ranks share the gradients too. */
    public static PartitionedStages stageTwo(MeshAxis axis) {
        return new PartitionedStages(axis.group(), false);
    }

    PartGradients gradients() {
        return madeBefore(parts);
    }

    private StageReductions reductions() {
        return madeBefore(reductions);
    }

    private static <T> T madeBefore(@Nullable T made) {
        if (made == null) {
            throw new IllegalStateException("these stages belong to no PipelineParallel yet: make the pipeline first");
        }
        return made;
    }

    /** Sets the gradients to zero. */
    void zeroGradients() {
        reductions().gradients().clear();
    }

    @Override
    public Map<Integer, List<PipelineLayer>> takeOver(
            Map<Integer, List<PipelineLayer>> stages, Predicate<Tensor> isTied) {
        StageReplicas.broadcast("PartitionedStages", group, stages);
        StageBuckets buckets = new StageBuckets(stages, isTied, group.size());
        BucketGradients gradients = keepsGradients
                ? new LastingGradients(buckets.partitions(), group.groupRank())
                : new PassingGradients(buckets.partitions(), group.groupRank());
        reductions = new StageReductions(buckets, gradients, group);
        parts = new PartGradients(gradients, group);
        return stages;
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
    public ShardedTensor kept(ShardedTensor parameter) {
        return parameter;
    }

    /** Removes the hooks and frees the gradients. */
    @Override
    public void close() {
        if (reductions != null && parts != null) {
            parts.close();
            reductions.close();
        }
    }
}
