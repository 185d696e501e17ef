package io.jrun.examples.gpt;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Lets the model write. */
final class TextGenerator {
    private static final String PROMPT = "\n    /**\n     * Returns ";
    private static final double TEMPERATURE = 0.8;

    private TextGenerator() {}

    /** The prompt and {@code count} bytes after it; a function of the model and the seed. */
    static String generate(Gpt model, int count, long seed) {
        byte[] prompt = PROMPT.getBytes(StandardCharsets.UTF_8);
        byte[] text = Arrays.copyOf(prompt, prompt.length + count);
        Generator generator = torch.createCPUGenerator(seed);
        try (NoGradGuard _ = new NoGradGuard()) {
            for (int at = prompt.length; at < text.length; at++) {
                try (PointerScope _ = new PointerScope()) {
                    text[at] = next(model, text, at, generator);
                }
            }
        }
        return new String(text, StandardCharsets.UTF_8);
    }

    private static byte next(Gpt model, byte[] text, int at, Generator generator) {
        int seen = Math.min(at, model.config().context());
        long[] window = new long[seen];
        for (int i = 0; i < seen; i++) {
            window[i] = Byte.toUnsignedLong(text[at - seen + i]);
        }
        Tensor logits_V =
                model.forward(Tensor.create(window, 1, seen)).select(0, 0).select(0, seen - 1L);
        Tensor probabilities_V = torch.softmax(logits_V.div(new Scalar(TEMPERATURE)), 0);
        return (byte) torch.multinomial(probabilities_V, 1, false, new GeneratorOptional(generator))
                .item_long();
    }
}
