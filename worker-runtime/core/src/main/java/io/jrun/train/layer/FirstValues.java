package io.jrun.train.layer;

import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Refuses a layer that computes with the zeros of its construction, because nobody gave it values. One thread at a time.
 */
public final class FirstValues {
    private final String layer;
    private final Tensor weight;
    /** libtorch's number of the operations that have written into the weight. */
    private final long version;

    private boolean isChecked;

    /**
     * For a layer that is made now. Its weight is zero.
     *
     * @param layer the name of the class, for messages
     */
    public FirstValues(String layer, Tensor weight) {
        this.layer = layer;
        this.weight = weight;
        this.version = weight._version();
    }

    /**
     * Checks the weight before the first computation. Reads the elements only if no operation has written into the
     * weight.
     *
     * @throws IllegalStateException if nothing has written into the weight, and all elements are zero
     */
    public void require() {
        if (isChecked) {
            return;
        }
        if (weight._version() == version && isZero()) {
            throw new IllegalStateException("a " + layer + " with a weight of shape " + TensorMemory.shape(weight)
                    + " computes, but nothing gave it values: all elements are zero. Call new InitialValues(seed,"
                    + " model.blockCount()).fill(model), for the blocks and for the model, or load values. For a layer"
                    + " that begins with zeros call weight().zero_() without gradients.");
        }
        isChecked = true;
    }

    private boolean isZero() {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            return DeviceWaits.number(weight.count_nonzero()) == 0;
        }
    }
}
