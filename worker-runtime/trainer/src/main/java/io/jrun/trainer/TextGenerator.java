package io.jrun.trainer;

import io.jrun.train.model.TrainableModel;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.token.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Generates text with a trained model. */
final class TextGenerator {
    private static final String PROMPT = "\n    /**\n     * Returns ";
    private static final double TEMPERATURE = 0.8;

    private TextGenerator() {}

    /** A prompt and {@code count} generated tokens after it. The same model and seed give the same text. */
    static String generate(TrainableModel model, int context, Tokenizer tokenizer, int count, long seed) {
        int[] prompt = tokenizer.encode(PROMPT.getBytes(StandardCharsets.UTF_8));
        int[] text = Arrays.copyOf(prompt, prompt.length + count);
        Generator generator = torch.createCPUGenerator(seed);
        try (NoGradGuard _ = new NoGradGuard()) {
            for (int at = prompt.length; at < text.length; at++) {
                try (PointerScope _ = new PointerScope()) {
                    text[at] = next(model, context, text, at, generator);
                }
            }
        }
        return new String(tokenizer.decode(text), StandardCharsets.UTF_8);
    }

    private static int next(TrainableModel model, int context, int[] text, int at, Generator generator) {
        int seen = Math.min(at, context);
        long[] window = new long[seen];
        for (int i = 0; i < seen; i++) {
            window[i] = text[at - seen + i];
        }
        Tensor logits_V = model.forward(DeviceTensors.of(model.device(), window, 1, seen))
                .select(0, 0)
                .select(0, seen - 1L);
        Tensor probabilities_V =
                torch.softmax(logits_V.div(new Scalar(TEMPERATURE)), 0).cpu();
        return (int) torch.multinomial(probabilities_V, 1, false, new GeneratorOptional(generator))
                .item_long();
    }
}
