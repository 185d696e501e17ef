package io.jrun.train.token;

import io.jrun.comm.Device;
import io.jrun.train.data.Batch;
import io.jrun.train.tensor.DeviceTensors;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** Makes batches of tokens: tensors of type Long and shape [B, S]. A target is the token behind the input. */
public final class TokenBatch {
    private TokenBatch() {}

    /**
     * The batch of B windows of S + 1 tokens in host memory; made in the PointerScope of the caller. The inputs are the
     * first S tokens of each window, the targets the last S tokens.
     */
    public static Batch of(List<long[]> windows) {
        return new Batch(tensor(windows, 0), tensor(windows, 1));
    }

    private static Tensor tensor(List<long[]> windows, int offset) {
        int context = windows.getFirst().length - 1;
        long[] tokens = new long[windows.size() * context];
        for (int i = 0; i < windows.size(); i++) {
            System.arraycopy(windows.get(i), offset, tokens, i * context, context);
        }
        return DeviceTensors.of(Device.CPU, tokens, windows.size(), context);
    }
}
