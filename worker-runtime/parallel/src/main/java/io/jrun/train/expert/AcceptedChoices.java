package io.jrun.train.expert;

import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import org.bytedeco.pytorch.Tensor;

/**
 * The choices that the experts accept. An expert with more choices than its capacity drops the last of them: first
 * choices of all tokens come before second choices, and early tokens before late ones (GShard, algorithm 1).
 */
final class AcceptedChoices {
    private final long[] load;
    private final long[] counts;
    private final long[] positions;

    /**
     * Chooses.
     *
     * @param experts_KT the experts of all tokens: the first choice of each token, then the second choices, ...
     * @param capacity the largest number of choices of an expert
     */
    AcceptedChoices(Tensor experts_KT, int experts, long capacity) {
        long[] choices = elements(experts_KT);
        load = new long[experts];
        for (long expert : choices) {
            load[Math.toIntExact(expert)]++;
        }
        counts = new long[experts];
        int[] next = new int[experts];
        int accepted = 0;
        for (int expert = 0; expert < experts; expert++) {
            counts[expert] = Math.min(load[expert], capacity);
            next[expert] = accepted;
            accepted += Math.toIntExact(counts[expert]);
        }
        positions = new long[accepted];
        long[] taken = new long[experts];
        for (int i = 0; i < choices.length; i++) {
            int expert = Math.toIntExact(choices[i]);
            if (taken[expert]++ < counts[expert]) {
                positions[next[expert]++] = i;
            }
        }
    }

    private static long[] elements(Tensor numbers) {
        try (Tensor onHost = DeviceWaits.onHost(numbers);
                Tensor rowMajor = onHost.contiguous()) {
            return TensorMemory.segment(rowMajor).toArray(ValueLayout.JAVA_LONG);
        }
    }

    /** The choices of each expert, before any is dropped. */
    long[] load() {
        return load;
    }

    /** The accepted choices of each expert. */
    long[] counts() {
        return counts;
    }

    /** The places [A] of the accepted choices in the list of all choices, expert by expert. */
    long[] positions() {
        return positions;
    }
}
