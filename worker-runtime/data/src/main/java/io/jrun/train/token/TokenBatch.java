package io.jrun.train.token;

import io.jrun.comm.Device;
import io.jrun.train.device.DeviceCopies;
import io.jrun.train.tensor.DeviceTensors;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * The tensors of one forward pass, of type Long and shape [B, S]. A target is the token behind the input.
 *
 * @param inputs the first S tokens of each window
 * @param targets the last S tokens of each window
 */
public record TokenBatch(Tensor inputs, Tensor targets) {
    /** The batch of B windows of S + 1 tokens in host memory; made in the PointerScope of the caller. */
    public static TokenBatch of(List<long[]> windows) {
        return new TokenBatch(tensor(windows, 0), tensor(windows, 1));
    }

    /** The batch on the device of the copies. A batch that stays on the CPU is this batch. */
    public TokenBatch copied(DeviceCopies copies) {
        List<Tensor> tensors = copies.copy(List.of(inputs, targets));
        return new TokenBatch(tensors.get(0), tensors.get(1));
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
