package io.jrun.examples.gpt;

import org.bytedeco.pytorch.Tensor;

/** A text cut into windows of {@code context} bytes. A sample is a window and its target: the window moved on by one byte. */
final class Windows {
    private final byte[] bytes;
    private final int context;

    Windows(byte[] bytes, int context) {
        this.bytes = bytes;
        this.context = context;
    }

    /** How many whole windows there are. The last byte of the text is only ever a target. */
    int count() {
        return Math.max(0, (bytes.length - 1) / context);
    }

    /** How many bytes all windows together predict: those behind the first byte of the text. */
    int bytesPredicted() {
        return count() * context;
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

    /** The tensors of one forward pass. */
    record Batch(Tensor inputs, Tensor targets) {}
}
