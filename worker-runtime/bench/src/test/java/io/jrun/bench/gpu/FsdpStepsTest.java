package io.jrun.bench.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.comm.local.LocalWorld;
import io.jrun.models.gpt2.Gpt2;
import io.jrun.models.gpt2.Gpt2Config;
import io.jrun.models.llama.Llama;
import io.jrun.models.llama.LlamaConfig;
import io.jrun.models.transformer.Activation;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.RotaryEmbedding;
import io.jrun.train.Libtorch;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.precision.Autocast;
import java.util.List;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The measured trainings with small models on the CPU. On a GPU scripts/gpu-check runs them. */
class FsdpStepsTest {
    private static final int STEPS = 2;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @ParameterizedTest
    @CsvSource({"gpt2, false, false", "gpt2, true, true", "llama, true, false", "llama, true, true"})
    void stepsOfOneRankHaveTheLossOfThePlainModel(String name, boolean recomputes, boolean isBfloat16) {
        LocalWorld.run(1, world -> {
            FsdpSteps.Setting setting = new FsdpSteps.Setting(recomputes, isBfloat16, 1, STEPS - 1);
            LanguageModel model = model(name);
            StepTokens tokens = StepTokens.of(2, model.context(), model.vocabulary(), Device.CPU);
            FsdpSteps.Result result = new FsdpSteps(world.group()).measure(model, tokens, setting);
            assertThat(result.loss()).isEqualTo(plainLoss(model(name), tokens, isBfloat16));
        });
    }

    private static LanguageModel model(String name) {
        LanguageModel model = name.equals("gpt2")
                ? new Gpt2(new Gpt2Config(96, 32, 64, 2, 4, 256, 1e-5, true), Device.CPU)
                : new Llama(
                        new LlamaConfig(
                                96,
                                32,
                                64,
                                2,
                                4,
                                2,
                                16,
                                128,
                                1e-5,
                                10_000,
                                false,
                                false,
                                RotaryEmbedding.Pairs.HALVES,
                                Optional.empty(),
                                Activation.SILU,
                                false),
                        Device.CPU);
        model.build();
        torch.manual_seed(1);
        FsdpTraining.fill(model);
        return model;
    }

    private static double plainLoss(LanguageModel model, StepTokens tokens, boolean isBfloat16) {
        double last = 0;
        try (FlatOptimizer optimizer = new FlatOptimizer(
                Parameters.of(model),
                FusedAdamW.DEFAULT,
                ParameterGroup.all(0.01),
                LearningRateSchedule.constant(3e-4))) {
            for (int i = 0; i < STEPS; i++) {
                try (PointerScope _ = new PointerScope()) {
                    optimizer.zeroGradients();
                    Tensor loss = loss(model, tokens, isBfloat16);
                    AutogradBridge.instance().backward(List.of(loss), List.of());
                    optimizer.step();
                    last = loss.item_double();
                }
            }
        }
        return last;
    }

    private static Tensor loss(LanguageModel model, StepTokens tokens, boolean isBfloat16) {
        if (!isBfloat16) {
            return model.loss(tokens.x_BS(), tokens.y_BS());
        }
        try (Autocast _ = Autocast.cpuBfloat16()) {
            return model.loss(tokens.x_BS(), tokens.y_BS());
        }
    }
}
