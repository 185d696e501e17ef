package io.jrun.bench.gpu;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.precision.Autocast;
import io.jrun.train.recompute.Recompute;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Training steps of a model that is fully sharded over a group: each block is a unit, with the fused AdamW.
 * scripts/bench/peers/gpu_gpt.py does the same by {@code fully_shard}.
 */
final class FsdpSteps {
    private static final double RATE = 3e-4;
    private static final double WEIGHT_DECAY = 0.01;

    /**
     * The training of a measurement.
     *
     * @param recomputes whether the backward pass computes the activations of each block again
     * @param isBfloat16 whether the forward pass runs under autocast to bfloat16
     * @param warmup steps before the measured steps
     * @param steps measured steps
     */
    record Setting(boolean recomputes, boolean isBfloat16, int warmup, int steps) {}

    /**
     * The result.
     *
     * @param millis time of a step
     * @param loss of the last step
     * @param peakBytes the most bytes of tensors at a time in the measured steps; 0 on the CPU
     */
    record Result(double millis, double loss, long peakBytes) {}

    private final ProcessGroup group;

    /** @param group the ranks that share the model */
    FsdpSteps(ProcessGroup group) {
        this.group = group;
    }

    /** Shards the model, and trains it with equal batches on its device. Collective. */
    Result measure(LanguageModel model, StepTokens tokens, Setting setting) {
        if (setting.recomputes()) {
            Recompute.apply(model);
        }
        FullyShardedDataParallel sharded = FullyShard.apply(model, new MeshAxis("shard", group));
        Device device = TensorMemory.device(tokens.x_BS());
        try (FlatOptimizer optimizer = new FlatOptimizer(
                sharded.parameters(),
                FusedAdamW.DEFAULT,
                ParameterGroup.all(WEIGHT_DECAY),
                LearningRateSchedule.constant(RATE),
                sharded.gradientMemory())) {
            long begin = 0;
            double loss = 0;
            for (int i = -setting.warmup(); i < setting.steps(); i++) {
                if (i == 0) {
                    synchronize(device);
                    if (!device.isCpu()) {
                        AllocatorStatistics.resetPeak();
                    }
                    begin = System.nanoTime();
                }
                loss = step(sharded, optimizer, model, tokens, setting, i == setting.steps() - 1);
            }
            synchronize(device);
            double millis = (System.nanoTime() - begin) / 1e6 / setting.steps();
            return new Result(millis, loss, device.isCpu() ? 0 : AllocatorStatistics.peakBytes());
        }
    }

    /** Returns the loss if {@code isRead}, else 0: reading waits for the GPU. */
    private static double step(
            FullyShardedDataParallel sharded,
            FlatOptimizer optimizer,
            LanguageModel model,
            StepTokens tokens,
            Setting setting,
            boolean isRead) {
        try (PointerScope _ = new PointerScope();
                Step step = sharded.step()) {
            optimizer.zeroGradients();
            Tensor loss = loss(model, tokens, setting);
            step.backward(loss);
            optimizer.step();
            return isRead ? loss.item_double() : 0;
        }
    }

    private static Tensor loss(LanguageModel model, StepTokens tokens, Setting setting) {
        if (!setting.isBfloat16()) {
            return model.loss(tokens.x_BS(), tokens.y_BS());
        }
        try (Autocast _ = Autocast.on(TensorMemory.device(tokens.x_BS()), torch.ScalarType.BFloat16)) {
            return model.loss(tokens.x_BS(), tokens.y_BS());
        }
    }

    private static void synchronize(Device device) {
        if (!device.isCpu()) {
            torch.cuda_synchronize();
        }
    }
}
