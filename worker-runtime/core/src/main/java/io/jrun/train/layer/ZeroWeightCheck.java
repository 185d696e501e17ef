package io.jrun.train.layer;

import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Refuses a layer that computes with the zeros of its construction, because nobody gave it values. One thread at a time.
 */
public final class ZeroWeightCheck {
    private final String layer;
    private final Tensor weight;
    /** libtorch's number of the operations that have written into the weight. */
    private final long version;

    private final long address;
    /** Type, shape and device. */
    private final String form;

    private boolean isChecked;

    /**
     * For a layer that is made now. Its weight is zero.
     *
     * @param layer the name of the class, for messages
     */
    public ZeroWeightCheck(String layer, Tensor weight) {
        this.layer = layer;
        this.weight = weight;
        this.version = weight._version();
        this.address = TensorMemory.address(weight);
        this.form = form(weight);
        this.isChecked = address == 0; // a model of the meta device has no values
    }

    /**
     * Checks the weight before the first computation. Reads the elements only if nothing has written into the weight or
     * replaced its memory.
     *
     * @throws IllegalStateException if nobody gave the weight values, and all elements are zero
     */
    public void require() {
        if (isChecked) {
            return;
        }
        if (weight._version() == version && !isReplaced() && isZero()) {
            throw new IllegalStateException("a " + layer + " with a weight of shape " + TensorMemory.shape(weight)
                    + " computes, but nothing gave it values: all elements are zero. Call new InitialValues(seed,"
                    + " model.blockCount()).fill(model), for the blocks and for the model, or load values. For a layer"
                    + " that begins with zeros call weight().zero_() without gradients.");
        }
        isChecked = true;
    }

    /** Whether the program has called {@code set_data}. Parallelisms call it too, and {@code Module.to}. */
    private boolean isReplaced() {
        return !ParameterNotes.isNoted(weight)
                && TensorMemory.address(weight) != address
                && form(weight).equals(form);
    }

    private static String form(Tensor tensor) {
        return TensorMemory.form(tensor) + TensorMemory.device(tensor);
    }

    private boolean isZero() {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            return DeviceWaits.number(weight.count_nonzero()) == 0;
        }
    }
}
