package io.jrun.examples.finetune;

import io.jrun.comm.Device;
import io.jrun.train.data.Batch;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.tensor.DeviceTensors;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Texts with hidden tokens, for the training of a BERT: the model predicts the hidden tokens. In each text 15 % of the
 * tokens are hidden: 80 % of them become the mask token, 10 % a random token, and 10 % stay. Source: Devlin et al. 2018,
 * section 3.1. Each text has as many hidden tokens as each other, so the mean over ranks is the mean over tokens. The
 * choice depends on the seed, the step and the text, not on the rank that has the text.
 */
final class MaskedTexts {
    private static final double HIDDEN = 0.15;
    private static final int TENTHS = 10;
    private static final int MASKED_TENTHS = 8;

    private MaskedTexts() {}

    /**
     * Hides tokens of texts; made in the PointerScope of the caller. The targets of the other tokens do not count.
     *
     * @param windows texts of S + 1 tokens; the last token is not used
     * @param vocabulary random tokens are below this number
     */
    static Batch of(List<long[]> windows, long maskToken, long vocabulary, long seed, long step) {
        int length = windows.getFirst().length - 1;
        int count = Math.max(1, (int) Math.round(HIDDEN * length));
        long[] inputs = new long[windows.size() * length];
        long[] targets = new long[inputs.length];
        Arrays.fill(targets, TokenLoss.IGNORED);
        for (int text = 0; text < windows.size(); text++) {
            long[] tokens = windows.get(text);
            System.arraycopy(tokens, 0, inputs, text * length, length);
            long ofStep = new SplittableRandom((seed << 32) + step).nextLong();
            SplittableRandom random = new SplittableRandom(ofStep + Arrays.hashCode(tokens));
            for (int chosen : choose(length, count, random)) {
                int place = text * length + chosen;
                targets[place] = inputs[place];
                int tenth = random.nextInt(TENTHS);
                if (tenth < MASKED_TENTHS) {
                    inputs[place] = maskToken;
                } else if (tenth == MASKED_TENTHS) {
                    inputs[place] = random.nextLong(vocabulary);
                }
            }
        }
        return new Batch(
                DeviceTensors.of(Device.CPU, inputs, windows.size(), length),
                DeviceTensors.of(Device.CPU, targets, windows.size(), length));
    }

    /** The first {@code count} elements of a random order of 0 to {@code length - 1} (Fisher and Yates). */
    private static int[] choose(int length, int count, SplittableRandom random) {
        int[] order = new int[length];
        for (int i = 0; i < length; i++) {
            order[i] = i;
        }
        for (int i = 0; i < count; i++) {
            int other = random.nextInt(i, length);
            int kept = order[i];
            order[i] = order[other];
            order[other] = kept;
        }
        return Arrays.copyOf(order, count);
    }
}
