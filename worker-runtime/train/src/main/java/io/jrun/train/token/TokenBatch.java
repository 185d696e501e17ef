package io.jrun.train.token;

import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * The tensors of one forward pass, of type Long and shape [B, S]. A target is the token behind the input.
 *
 * @param inputs the first S tokens of each window
 * @param targets the last S tokens of each window
 */
public record TokenBatch(Tensor inputs, Tensor targets) {
    /** The batch of B windows of S + 1 tokens; made in the PointerScope of the caller. */
    public static TokenBatch of(List<long[]> windows) {
        return new TokenBatch(tensor(windows, 0), tensor(windows, 1));
    }

    private static Tensor tensor(List<long[]> windows, int offset) {
        int context = windows.getFirst().length - 1;
        long[] tokens = new long[windows.size() * context];
        for (int i = 0; i < windows.size(); i++) {
            System.arraycopy(windows.get(i), offset, tokens, i * context, context);
        }
        return Tensor.create(tokens, windows.size(), context);
    }
}
