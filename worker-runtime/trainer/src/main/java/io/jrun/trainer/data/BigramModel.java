package io.jrun.trainer.data;

import io.jrun.comm.file.FileError;
import io.jrun.train.data.DataException;
import io.jrun.train.data.Dataset;
import java.io.IOException;
import java.util.Arrays;

/**
 * Predicts a token from the token before it, by counting pairs of tokens in a training text. A trained GPT must have a
 * lower loss. Every count begins at 1, so that no pair has the probability 0.
 */
final class BigramModel {
    /** The counts of a larger vocabulary would need more than 8 MiB. */
    static final int LARGEST_VOCABULARY = 1024;

    private final long[][] counts;
    private final long[] totals;

    /** Counts the pairs of windows that overlap by one token. */
    BigramModel(Dataset<long[]> training, int vocabulary) {
        counts = new long[vocabulary][vocabulary];
        totals = new long[vocabulary];
        for (long[] row : counts) {
            Arrays.fill(row, 1);
        }
        Arrays.fill(totals, vocabulary);
        for (long index = 0; index < training.size(); index++) {
            long[] window = window(training, index);
            for (int i = 1; i < window.length; i++) {
                counts[(int) window[i - 1]][(int) window[i]]++;
                totals[(int) window[i - 1]]++;
            }
        }
    }

    /** Mean cross entropy, in nats per token, of the tokens of each window that follow its first token. */
    double loss(Dataset<long[]> windows) {
        double sum = 0;
        long count = 0;
        for (long index = 0; index < windows.size(); index++) {
            long[] window = window(windows, index);
            for (int i = 1; i < window.length; i++) {
                sum -= Math.log(counts[(int) window[i - 1]][(int) window[i]] / (double) totals[(int) window[i - 1]]);
                count++;
            }
        }
        return sum / count;
    }

    private static long[] window(Dataset<long[]> windows, long index) {
        try {
            return windows.get(index);
        } catch (IOException e) {
            throw new DataException(
                    "cannot read " + windows.location(index) + ": " + FileError.reason(e, windows.location(index)), e);
        }
    }
}
