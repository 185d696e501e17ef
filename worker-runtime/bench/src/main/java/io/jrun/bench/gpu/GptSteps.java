package io.jrun.bench.gpu;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.cuda.DeviceMemory;
import io.jrun.models.gpt2.Gpt2;
import io.jrun.models.gpt2.Gpt2Config;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.precision.Autocast;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.DeferredNumber;
import io.jrun.train.tensor.TensorMemory;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Training steps of GPT-2 small (124.5 million parameters, 1024 tokens, vocabulary 50304) on the GPU, with the fused
 * AdamW. scripts/bench/peers/gpu_gpt.py has the same model, tokens and optimizer.
 */
final class GptSteps {
    private static final long CONTEXT = 1024;
    private static final long VOCABULARY = 50304;
    /** As many as the JVM needs to compile the path of a step. */
    private static final int WARMUP = 60;

    private static final double RATE = 3e-4;
    private static final double WEIGHT_DECAY = 0.01;

    /** The training of a measurement. */
    record Setting(long batch, Precision precision, boolean clips, int steps) {}

    enum Precision {
        BF16,
        TF32,
        F32
    }

    /**
     * The result.
     *
     * @param millis time of a step
     * @param loss of the last step
     * @param grownBytes growth of the GPU's memory in use since the warm-up
     */
    record Result(double millis, double loss, long grownBytes) {}

    private final Optional<ProcessGroup> group;

    /** @param group the group of DDP; without a group the model is trained alone */
    GptSteps(Optional<ProcessGroup> group) {
        this.group = group;
    }

    Result measure(Setting setting) {
        torch.globalContext().setFloat32MatmulPrecision(setting.precision() == Precision.TF32 ? "high" : "highest");
        Device device = new Device("cuda:0");
        Gpt2 model =
                new Gpt2(new Gpt2Config(VOCABULARY, CONTEXT, 768, 12, 12, 3072, 1e-5, true), io.jrun.comm.Device.CPU);
        model.build();
        model.initialize(1);
        model.to(device, false);
        try (PointerScope _ = new PointerScope()) {
            StepTokens tokens = StepTokens.of(setting.batch(), CONTEXT, VOCABULARY, io.jrun.comm.Device.cuda(0));
            if (group.isEmpty()) {
                return steps(setting, model, tokens, Optional.empty());
            }
            try (var ddp = new DistributedDataParallel<>(model, group.get())) {
                return steps(setting, model, tokens, Optional.of(ddp));
            }
        }
    }

    private static Result steps(
            Setting setting, Gpt2 model, StepTokens tokens, Optional<DistributedDataParallel<Gpt2>> ddp) {
        Map<String, ShardedTensor> parameters = Parameters.of(model);
        try (FlatOptimizer optimizer = new FlatOptimizer(
                parameters,
                FusedAdamW.DEFAULT,
                ParameterGroup.all(WEIGHT_DECAY),
                LearningRateSchedule.constant(RATE),
                ddp.map(DistributedDataParallel::gradientMemory).orElse(PaddedGradients.NONE))) {
            long free = 0;
            long begin = 0;
            double last = 0;
            for (int i = -WARMUP; i < setting.steps(); i++) {
                if (i == 0) {
                    torch.cuda_synchronize();
                    free = freeBytes();
                    begin = System.nanoTime();
                }
                last = step(setting, model, tokens, ddp, parameters.values(), optimizer, i == setting.steps() - 1);
            }
            torch.cuda_synchronize();
            double millis = (System.nanoTime() - begin) / 1e6 / setting.steps();
            return new Result(millis, last, free - freeBytes());
        }
    }

    /** Returns the loss if {@code isRead}, else 0: reading waits for the GPU. */
    private static double step(
            Setting setting,
            Gpt2 model,
            StepTokens tokens,
            Optional<DistributedDataParallel<Gpt2>> ddp,
            Collection<ShardedTensor> parameters,
            FlatOptimizer optimizer,
            boolean isRead) {
        Optional<Step> step = ddp.map(DistributedDataParallel::step);
        try (PointerScope _ = new PointerScope()) {
            model.zero_grad(true);
            Tensor loss = loss(setting, model, tokens);
            if (step.isPresent()) {
                step.get().backward(loss);
            } else {
                AutogradBridge.instance().backward(List.of(loss), List.of());
            }
            if (setting.clips()) {
                DeferredNumber _ = Gradients.clip(parameters, 1.0); // queues the work, and does not wait
            }
            optimizer.step();
            return isRead ? loss.item_double() : 0;
        } finally {
            step.ifPresent(Step::close);
        }
    }

    private static Tensor loss(Setting setting, Gpt2 model, StepTokens tokens) {
        if (setting.precision() != Precision.BF16) {
            return model.loss(tokens.x_BS(), tokens.y_BS());
        }
        try (Autocast _ = Autocast.on(TensorMemory.device(tokens.x_BS()), torch.ScalarType.BFloat16)) {
            return model.loss(tokens.x_BS(), tokens.y_BS());
        }
    }

    private static long freeBytes() {
        return DeviceMemory.freeBytes(io.jrun.comm.Device.cuda(0));
    }
}
