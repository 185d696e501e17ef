package io.jrun.trainer;

import io.jrun.train.model.TrainableModel;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.LibtorchScope;
import io.jrun.train.token.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Generates text with a model that predicts the next token. Each token is one forward pass over all tokens before it.
 */
public final class TextGenerator {
    private TextGenerator() {}

    /**
     * Which tokens are taken.
     *
     * @param count tokens after the prompt at most; the text ends earlier with the tokenizer's end of text
     * @param temperature divides the logits before a token is drawn; 0 takes the token with the largest logit
     * @param seed decides the draws
     */
    public record Choice(int count, double temperature, long seed) {
        /** Checks the numbers. */
        public Choice {
            if (count < 0 || !(temperature >= 0)) {
                throw new IllegalArgumentException(
                        "expected a count and a temperature of at least 0, not " + count + " and " + temperature);
            }
        }
    }

    /**
     * The text that follows a prompt. The same model and choice give the same text.
     *
     * @param context the most tokens that the model sees; of a longer text the model sees the last ones
     * @throws IllegalArgumentException if the prompt has no token
     */
    public static String continuation(
            TrainableModel model, int context, Tokenizer tokenizer, String prompt, Choice choice) {
        int[] begin = tokenizer.encode(prompt.getBytes(StandardCharsets.UTF_8));
        if (begin.length == 0) {
            throw new IllegalArgumentException("the prompt has no token: give at least one character");
        }
        int[] text = Arrays.copyOf(begin, begin.length + choice.count());
        int end = begin.length;
        Generator generator = torch.createCPUGenerator(choice.seed());
        try (NoGradGuard _ = new NoGradGuard()) {
            while (end < text.length) {
                try (LibtorchScope _ = new LibtorchScope()) {
                    text[end] = next(model, context, text, end, choice.temperature(), generator);
                }
                if (tokenizer.endOfText().isPresent() && tokenizer.endOfText().getAsInt() == text[end]) {
                    break;
                }
                end++;
            }
        }
        return new String(tokenizer.decode(Arrays.copyOfRange(text, begin.length, end)), StandardCharsets.UTF_8);
    }

    private static int next(
            TrainableModel model, int context, int[] text, int at, double temperature, Generator generator) {
        int seen = Math.min(at, context);
        long[] window = new long[seen];
        for (int i = 0; i < seen; i++) {
            window[i] = text[at - seen + i];
        }
        Tensor logits_V = model.forward(DeviceTensors.of(model.device(), window, 1, seen))
                .select(0, 0)
                .select(0, seen - 1L);
        if (temperature == 0) {
            return (int) logits_V.argmax().item_long();
        }
        Tensor probabilities_V =
                torch.softmax(logits_V.div(new Scalar(temperature)), 0).cpu();
        return (int) torch.multinomial(probabilities_V, 1, false, new GeneratorOptional(generator))
                .item_long();
    }
}
