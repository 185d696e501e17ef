package io.jrun.bench;

import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.LibtorchOptimizer;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.ParameterOptimizer;
import java.util.Map;

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

    /**
     * {@code gradientMemory} is the memory in which the gradients already lie.
     */
    ParameterOptimizer start(Map<String, ShardedTensor> parameters, PaddedGradients gradientMemory) {
        return switch (this) {
            case sgd -> new LibtorchOptimizer(parameters, FusedSgd.PLAIN, 0, LearningRateSchedule.constant(SGD_RATE));
            case adamw ->
                new LibtorchOptimizer(
                        parameters, FusedAdamW.DEFAULT, WEIGHT_DECAY, LearningRateSchedule.constant(ADAMW_RATE));
            case fused ->
                new FlatOptimizer(
                        parameters,
                        FusedAdamW.DEFAULT,
                        ParameterGroup.all(WEIGHT_DECAY),
                        LearningRateSchedule.constant(ADAMW_RATE),
                        gradientMemory);
        };
    }
}
