package io.jrun.train;

import io.jrun.comm.World;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.pipeline.PipelineOptions;
import io.jrun.train.pipeline.PipelineParallel;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.reducer.StageReducer;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.zero.ZeroOptimizer;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Trains a {@link LinearStack} with AdamW; the ranks share its states in one of several ways. */
public enum StackTraining {
    DDP {
        @Override
        public void train(World world, int layers, long width, int steps, Runnable measure) {
            LinearStack stack = new LinearStack(layers, width);
            try (var model = new DistributedDataParallel<>(stack, world.group());
                    FlatOptimizer optimizer = new FlatOptimizer(
                            Parameters.of(stack),
                            FusedAdamW.DEFAULT,
                            ParameterGroup.all(0),
                            LearningRateSchedule.constant(1e-3),
                            model.gradientMemory())) {
                for (int i = 0; i < steps; i++) {
                    if (i == steps - 1) {
                        measure.run();
                    }
                    try (var step = model.step()) {
                        optimizer.zeroGradients();
                        step.backward(stack.loss());
                        optimizer.step();
                    }
                }
                measure.run();
            }
        }
    },
    ZERO_1 {
        @Override
        public void train(World world, int layers, long width, int steps, Runnable measure) {
            LinearStack stack = new LinearStack(layers, width);
            try (var model = new DistributedDataParallel<>(
                            stack, world.group(), DdpOptions.DEFAULT.withPlacement(GradientPlacement.SHARDED_STATES));
                    ZeroOptimizer optimizer = ZeroOptimizer.of(
                            model.reducer(),
                            FusedAdamW.DEFAULT,
                            ParameterGroup.all(0),
                            LearningRateSchedule.constant(1e-3))) {
                for (int i = 0; i < steps; i++) {
                    if (i == steps - 1) {
                        measure.run();
                    }
                    try (var step = model.step()) {
                        optimizer.zeroGradients();
                        step.backward(stack.loss());
                        optimizer.step();
                    }
                }
                measure.run();
            }
        }
    },
    ZERO_2 {
        @Override
        public void train(World world, int layers, long width, int steps, Runnable measure) {
            LinearStack stack = new LinearStack(layers, width);
            try (var model = new DistributedDataParallel<>(
                            stack,
                            world.group(),
                            DdpOptions.DEFAULT.withPlacement(GradientPlacement.SHARDED_GRADIENTS));
                    ZeroOptimizer optimizer = ZeroOptimizer.of(
                            model.reducer(),
                            FusedAdamW.DEFAULT,
                            ParameterGroup.all(0),
                            LearningRateSchedule.constant(1e-3))) {
                for (int i = 0; i < steps; i++) {
                    if (i == steps - 1) {
                        measure.run();
                    }
                    try (var step = model.step()) {
                        optimizer.zeroGradients();
                        step.backward(stack.loss());
                        optimizer.step();
                    }
                }
                measure.run();
            }
        }
    },
    ZERO_1_OF_STAGES {
        @Override
        public void train(World world, int layers, long width, int steps, Runnable measure) {
            trainStages(world, GradientPlacement.SHARDED_STATES, layers, width, steps, measure);
        }
    },
    ZERO_2_OF_STAGES {
        @Override
        public void train(World world, int layers, long width, int steps, Runnable measure) {
            trainStages(world, GradientPlacement.SHARDED_GRADIENTS, layers, width, steps, measure);
        }
    },
    FSDP {
        @Override
        public void train(World world, int layers, long width, int steps, Runnable measure) {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            LinearStack stack = new LinearStack(layers, width, block -> FullyShard.apply(block, fsdp));
            FullyShard.apply(stack, fsdp);
            try (FlatOptimizer optimizer = new FlatOptimizer(
                    fsdp.parameters(),
                    FusedAdamW.DEFAULT,
                    ParameterGroup.all(0),
                    LearningRateSchedule.constant(1e-3),
                    fsdp.gradientMemory())) {
                for (int i = 0; i < steps; i++) {
                    if (i == steps - 1) {
                        measure.run();
                    }
                    try (var step = fsdp.step()) {
                        optimizer.zeroGradients();
                        step.backward(stack.loss());
                        optimizer.step();
                    }
                }
                measure.run();
            }
        }
    };

    /** A pipeline of one rank, which several ranks have. */
    private static void trainStages(
            World world, GradientPlacement placement, int count, long width, int steps, Runnable measure) {
        List<PipelineLayer> layers = new ArrayList<>();
        LinearStack _ = new LinearStack(count, width, block -> layers.add(block.layer()));
        List<Tensor> batch = List.of(TensorMemory.own(torch.ones(1, width)));
        try (DeviceMesh mesh = DeviceMesh.of(world, "pp", 1, "shard", world.size());
                StageReducer stages = new StageReducer(mesh.axis("shard"), placement);
                PipelineParallel model = new PipelineParallel(
                        layers,
                        (x, _) -> x.sum(),
                        mesh.axis("pp"),
                        PipelineOptions.of(ScheduleKind.GPIPE, 1, 1, 1).withReplicas(stages));
                ZeroOptimizer optimizer = ZeroOptimizer.of(
                        stages.reducer(),
                        FusedAdamW.DEFAULT,
                        ParameterGroup.all(0),
                        LearningRateSchedule.constant(1e-3))) {
            for (int i = 0; i < steps; i++) {
                if (i == steps - 1) {
                    measure.run();
                }
                optimizer.zeroGradients();
                double _ = model.step(batch, batch);
                optimizer.step();
            }
            measure.run();
        }
    }

    /** Trains. Runs {@code measure} before the last step and after it, while all states are there. */
    public abstract void train(World world, int layers, long width, int steps, Runnable measure);

    /** The bytes of a parameter's states on one of {@code ranks}, in float32 with AdamW. */
    public double bytesPerParameter(int ranks) {
        return switch (this) {
            case DDP -> 16;
            case ZERO_1, ZERO_1_OF_STAGES -> 8 + 8.0 / ranks;
            case ZERO_2, ZERO_2_OF_STAGES -> 4 + 12.0 / ranks;
            case FSDP -> 16.0 / ranks;
        };
    }

    /** The number of times that a step sends (N-1)/N of the bytes of all parameters. */
    public int volumes() {
        return this == FSDP ? 3 : 2;
    }
}
