package io.jrun.trainer;

import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.fsdp.ShardedStages;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.pipeline.PipelineOptions;
import io.jrun.train.pipeline.PipelineParallel;
import io.jrun.train.reducer.StageReducer;
import io.jrun.train.tensor.LibtorchScope;
import org.jspecify.annotations.Nullable;

/** The states of a model on a mesh: each copy of the model has them whole, or the ranks of an axis share them. */
sealed interface MeshStates {
    /**
     * The kind that the options ask for.
     *
     * @param sharded has wrapped the layers of this rank; null if the ranks do not share parameters
     */
    static MeshStates of(ParallelOptions options, DeviceMesh mesh, @Nullable FullyShardedDataParallel sharded) {
        MeshAxis axis = ParallelOptions.gradientAxis(mesh);
        if (sharded != null) {
            return new FullySharded(sharded);
        }
        return switch (options.zeroStage()) {
            case 0 -> new Copies(axis);
            default -> new Partitioned(new StageReducer(axis, options.gradientPlacement()));
        };
    }

    /** Adds the exchange of gradients to the options of a pipeline. */
    PipelineOptions addTo(PipelineOptions pipeline);

    /** The optimizer of this rank's states, after the pipeline has taken over the layers. */
    TrainingOptimizer optimizer(UpdateOptions update, PipelineParallel pipeline);

    /** Opens a step. Returns its end, which frees the objects of libtorch that the step has made. */
    default Runnable openStep() {
        return new LibtorchScope()::close;
    }

    /** Each rank has the whole states of its stages. */
    record Copies(MeshAxis axis) implements MeshStates {
        @Override
        public PipelineOptions addTo(PipelineOptions pipeline) {
            return pipeline.withReplicas(axis);
        }

        @Override
        public TrainingOptimizer optimizer(UpdateOptions update, PipelineParallel pipeline) {
            return TrainingOptimizer.of(update, pipeline.parameters(), PaddedGradients.NONE);
        }
    }

    /** Stages 1 and 2 of ZeRO. */
    record Partitioned(StageReducer stages) implements MeshStates {
        @Override
        public PipelineOptions addTo(PipelineOptions pipeline) {
            return pipeline.withReplicas(stages);
        }

        @Override
        public TrainingOptimizer optimizer(UpdateOptions update, PipelineParallel pipeline) {
            return ZeroStates.of(update, stages.reducer());
        }
    }

    /** Stage 3 of ZeRO: each rank has rows of all parameters of its stages. */
    record FullySharded(FullyShardedDataParallel parallel) implements MeshStates {
        @Override
        public PipelineOptions addTo(PipelineOptions pipeline) {
            return pipeline.withReplicas(new ShardedStages(parallel));
        }

        @Override
        public TrainingOptimizer optimizer(UpdateOptions update, PipelineParallel pipeline) {
            return TrainingOptimizer.of(update, pipeline.parameters(), parallel.gradientMemory());
        }

        @Override
        public Runnable openStep() {
            return parallel.step()::close;
        }
    }
}
