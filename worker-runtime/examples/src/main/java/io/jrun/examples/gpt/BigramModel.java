package io.jrun.examples.gpt;

import java.util.Arrays;

/**
 * Predicts a byte from the byte before it, by counting pairs of bytes in a training text. A trained GPT must have a lower
 * loss. Every count begins at 1, so that no pair has the probability 0.
 */
final class BigramModel {
    private final long[][] counts = new long[Gpt.VOCABULARY][Gpt.VOCABULARY];
    private final long[] totals = new long[Gpt.VOCABULARY];

    BigramModel(byte[] training) {
        for (long[] row : counts) {
            Arrays.fill(row, 1);
        }
        Arrays.fill(totals, Gpt.VOCABULARY);
        for (int i = 1; i < training.length; i++) {
            int previous = Byte.toUnsignedInt(training[i - 1]);
            counts[previous][Byte.toUnsignedInt(training[i])]++;
            totals[previous]++;
        }
    }

    /** Mean cross entropy, in nats per byte, of the {@code count} bytes of {@code text} that follow its first byte. */
    double loss(byte[] text, int count) {
        double sum = 0;
        for (int i = 1; i <= count; i++) {
            int previous = Byte.toUnsignedInt(text[i - 1]);
            sum -= Math.log(counts[previous][Byte.toUnsignedInt(text[i])] / (double) totals[previous]);
        }
        return sum / count;
    }
}
