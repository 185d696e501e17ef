package io.jrun.bench;

import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** The optimizers of the benchmark. The names are the values of {@code --optimizer}. */
enum BenchOptimizer {
    /** libtorch's SGD without momentum. */
    sgd,
    /** libtorch's AdamW. */
    adamw,
    /** jrun's AdamW over flat memory, by libtorch's fused kernel. */
    fused;

    private static final double SGD_RATE = 0.05;
    private static final double ADAMW_RATE = 1e-3;
    private static final double WEIGHT_DECAY = 0.01;

    /** An optimizer of one training. */
    interface Running extends AutoCloseable {
        void step();

        @Override
        void close();
    }

    /**
     * {@code gradientMemory} is the memory in which the gradients already lie; empty if the gradients have separate
     * memory.
     */
    Running start(Map<String, ShardedTensor> parameters, List<MemorySegment> gradientMemory) {
        return switch (this) {
            case sgd -> libtorch(new SGD(vector(parameters), new SGDOptions(SGD_RATE)));
            case adamw -> {
                AdamWOptions options = new AdamWOptions(ADAMW_RATE);
                options.weight_decay().put(WEIGHT_DECAY);
                yield libtorch(new AdamW(vector(parameters), options));
            }
            case fused ->
                flat(new FlatOptimizer(
                        parameters,
                        FusedAdamW.DEFAULT,
                        ParameterGroup.all(WEIGHT_DECAY),
                        LearningRateSchedule.constant(ADAMW_RATE),
                        gradientMemory));
        };
    }

    private static TensorVector vector(Map<String, ShardedTensor> parameters) {
        return new TensorVector(Parameters.here(parameters).values().toArray(Tensor[]::new));
    }

    private static Running libtorch(Optimizer optimizer) {
        return new Running() {
            @Override
            public void step() {
                optimizer.step();
            }

            @Override
            public void close() {
                optimizer.close();
            }
        };
    }

    private static Running flat(FlatOptimizer optimizer) {
        return new Running() {
            @Override
            public void step() {
                optimizer.step();
            }

            @Override
            public void close() {
                optimizer.close();
            }
        };
    }
}
