package io.jrun.bench.gpu;

import io.jrun.comm.Device;
import io.jrun.models.gpt2.Gpt2;
import io.jrun.models.gpt2.Gpt2Config;
import io.jrun.models.llama.Llama;
import io.jrun.models.llama.LlamaConfig;
import io.jrun.models.transformer.Activation;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.RotaryEmbedding;
import io.jrun.train.tensor.ModuleTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;

/** The trainings with full sharding that are measured, in bfloat16 by autocast. */
enum FsdpTraining {
    /** GPT-2 small, 8 sequences of 1024 tokens. */
    GPT2("time-step-b8-fsdp", false),
    /** The same; each block is computed again in the backward pass. */
    GPT2_RECOMPUTE("time-step-b8-fsdp-recompute", false),
    /** A Llama of 1.1 billion parameters, 2 sequences of 2048 tokens. */
    LLAMA_RECOMPUTE("time-llama-1b-fsdp-recompute", true);

    private static final double DEVIATION = 0.02;
    private static final Gpt2Config GPT2_SMALL = new Gpt2Config(50304, 1024, 768, 12, 12, 3072, 1e-5, true);
    /** The sizes of TinyLlama 1.1B (Zhang et al. 2024). */
    private static final LlamaConfig LLAMA_1B = new LlamaConfig(
            32000,
            2048,
            2048,
            22,
            32,
            4,
            64,
            5632,
            1e-5,
            10_000,
            false,
            false,
            RotaryEmbedding.Pairs.HALVES,
            Optional.empty(),
            Activation.SILU,
            false);

    private final String label;
    private final boolean isLlama;

    FsdpTraining(String label, boolean isLlama) {
        this.label = label;
        this.isLlama = isLlama;
    }

    /** The name of the measurement. */
    String label() {
        return label;
    }

    long batch() {
        return isLlama ? 2 : 8;
    }

    /** The warm-up of GPT-2 has as many steps as the JVM needs to compile the path of a step. */
    FsdpSteps.Setting setting() {
        return new FsdpSteps.Setting(this != GPT2, true, isLlama ? 20 : 60, isLlama ? 10 : 25);
    }

    /** A model on a device, with random values. */
    LanguageModel model(Device device) {
        LanguageModel model = isLlama ? new Llama(LLAMA_1B, device) : new Gpt2(GPT2_SMALL, device);
        model.build();
        fill(model);
        return model;
    }

    /** Draws on the model's own device: the CPU would draw a billion values for seconds. */
    static void fill(LanguageModel model) {
        try (NoGradGuard _ = new NoGradGuard()) {
            ModuleTensors.parameters(model).forEach((name, parameter) -> {
                if (parameter.dim() > 1) {
                    parameter.normal_(0, DEVIATION, new GeneratorOptional());
                } else {
                    parameter.fill_(new Scalar(name.endsWith("bias") ? 0.0 : 1.0));
                }
            });
        }
    }

    /** The words for the same training in Python. */
    List<String> pythonWords() {
        List<String> words = new ArrayList<>(List.of("step", "--mode=fsdp", "--precision=bf16"));
        words.add(setting().recomputes() ? "--recompute" : "--no-recompute");
        words.add("--batch=" + batch());
        words.add("--warmup=" + setting().warmup());
        words.add("--steps=" + setting().steps());
        if (isLlama) {
            words.add("--model=llama");
            words.add("--vocab=" + LLAMA_1B.vocabulary());
            words.add("--context=" + LLAMA_1B.context());
            words.add("--width=" + LLAMA_1B.width());
            words.add("--layers=" + LLAMA_1B.layers());
            words.add("--heads=" + LLAMA_1B.heads());
            words.add("--keyheads=" + LLAMA_1B.keyHeads());
            words.add("--inner=" + LLAMA_1B.inner());
        }
        return words;
    }
}
