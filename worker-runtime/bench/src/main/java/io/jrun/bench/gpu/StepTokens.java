package io.jrun.bench.gpu;

import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The batch of a measurement: token numbers [B, S] by a formula of integers, and a target for each token. Both are made
 * in the PointerScope of the caller. scripts/bench/peers/gpu_gpt.py has the same numbers.
 *
 * @param x_BS the tokens, of type Long
 * @param y_BS the targets, of type Long
 */
record StepTokens(Tensor x_BS, Tensor y_BS) {
    private static final long PRIME = Integer.MAX_VALUE;

    static StepTokens of(long batch, long context, long vocabulary, io.jrun.comm.Device device) {
        long[] values = new long[Math.toIntExact(batch * context)];
        for (int i = 0; i < values.length; i++) {
            long mixed = ((long) i * i % PRIME * 48271 + i * 16807L + 1001 * 69621L) % PRIME;
            values[i] = (long) ((double) mixed / PRIME * vocabulary);
        }
        Tensor x_BS = Tensor.create(values, batch, context).to(new Device(device.toString()), torch.ScalarType.Long);
        return new StepTokens(
                x_BS, x_BS.mul(new Scalar(31L)).add(new Scalar(7L)).remainder(new Scalar(vocabulary)));
    }
}
