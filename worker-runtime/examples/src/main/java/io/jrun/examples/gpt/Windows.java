package io.jrun.examples.gpt;

import org.bytedeco.pytorch.Tensor;

/** A text cut into windows of {@code context} bytes; a sample is a window and the same moved on by one byte. */
final class Windows {
    private final byte[] bytes;
    private final int context;

    Windows(byte[] bytes, int context) {
        this.bytes = bytes;
        this.context = context;
    }

    /** The last byte has no successor. */
    int count() {
        return Math.max(0, (bytes.length - 1) / context);
    }

    /** Inputs and targets, both Long [samples, context]; made in the caller's PointerScope. */
    Batch batch(long[] samples) {
        return new Batch(tensor(samples, 0), tensor(samples, 1));
    }

    private Tensor tensor(long[] samples, int shift) {
        long[] values = new long[samples.length * context];
        for (int i = 0; i < samples.length; i++) {
            int start = Math.toIntExact(samples[i] * context) + shift;
            for (int k = 0; k < context; k++) {
                values[i * context + k] = Byte.toUnsignedLong(bytes[start + k]);
            }
        }
        return Tensor.create(values, samples.length, context);
    }

    /** What one forward pass needs. */
    record Batch(Tensor inputs, Tensor targets) {}
}
