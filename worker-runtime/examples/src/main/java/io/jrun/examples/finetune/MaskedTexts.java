package io.jrun.examples.finetune;

import io.jrun.comm.Device;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.device.DeviceCopies;
import io.jrun.train.tensor.DeviceTensors;
import java.util.List;
import java.util.SplittableRandom;
import org.bytedeco.pytorch.Tensor;

/**
 * Texts with hidden tokens, for the training of a BERT: the model predicts the hidden tokens. In each text 15 % of the
 * tokens are hidden: 80 % of them become the mask token, 10 % a random token, and 10 % stay. Source: Devlin et al. 2018,
 * section 3.1. Each text has as many hidden tokens as each other, so the mean over ranks is the mean over tokens.
 *
 * @param inputs_BS the texts
 * @param places_N the places of the hidden tokens in all texts, one text after the other
 * @param hidden_N the hidden tokens
 */
record MaskedTexts(Tensor inputs_BS, Tensor places_N, Tensor hidden_N) {
    private static final double HIDDEN = 0.15;
    private static final int TENTHS = 10;
    private static final int MASKED_TENTHS = 8;

    /**
     * Hides tokens of texts; made in the PointerScope of the caller.
     *
     * @param windows texts of S + 1 tokens; the last token is not used
     * @param vocabulary random tokens are below this number
     */
    static MaskedTexts of(List<long[]> windows, long maskToken, long vocabulary, SplittableRandom random) {
        int length = windows.getFirst().length - 1;
        int count = Math.max(1, (int) Math.round(HIDDEN * length));
        long[] inputs = new long[windows.size() * length];
        long[] places = new long[windows.size() * count];
        long[] hidden = new long[places.length];
        for (int text = 0; text < windows.size(); text++) {
            System.arraycopy(windows.get(text), 0, inputs, text * length, length);
            int[] chosen = choose(length, count, random);
            for (int i = 0; i < count; i++) {
                int place = text * length + chosen[i];
                places[text * count + i] = place;
                hidden[text * count + i] = inputs[place];
                int tenth = random.nextInt(TENTHS);
                if (tenth < MASKED_TENTHS) {
                    inputs[place] = maskToken;
                } else if (tenth == MASKED_TENTHS) {
                    inputs[place] = random.nextLong(vocabulary);
                }
            }
        }
        return new MaskedTexts(
                DeviceTensors.of(Device.CPU, inputs, windows.size(), length),
                DeviceTensors.of(Device.CPU, places, places.length),
                DeviceTensors.of(Device.CPU, hidden, hidden.length));
    }

    /** The texts on the device of the copies. */
    MaskedTexts copied(DeviceCopies copies) {
        List<Tensor> tensors = copies.copy(List.of(inputs_BS, places_N, hidden_N));
        return new MaskedTexts(tensors.get(0), tensors.get(1), tensors.get(2));
    }

    /** The first elements of a random order of 0 to {@code length - 1} (Fisher and Yates). */
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
        return order;
    }

    /** Mean cross entropy in nats of the hidden tokens. */
    Tensor loss(LanguageModel model) {
        Tensor logits_NV = model.forward(inputs_BS).flatten(0, 1).index_select(0, places_N);
        return model.outputLoss(logits_NV.unsqueeze(0), hidden_N.unsqueeze(0));
    }
}
