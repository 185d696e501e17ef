package io.jrun.train.reducer;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.TensorTypes;
import org.bytedeco.pytorch.Tensor;

/**
 * One trained parameter.
 *
 * @param group the ranks that add its gradients
 */
record Parameter(String name, Tensor tensor, DataType type, long elements, ProcessGroup group) {

    long bytes() {
        return elements * type.sizeBytes();
    }

    /** The bytes with the padding to a whole cache line. */
    long paddedBytes() {
        return Math.ceilDiv(bytes(), BucketDivision.ALIGNMENT_BYTES) * BucketDivision.ALIGNMENT_BYTES;
    }

    long paddedElements() {
        return paddedBytes() / type.sizeBytes();
    }

    /**
     * A tensor that requires a gradient.
     *
     * @throws ReductionException if ranks cannot reduce the gradient
     */
    static Parameter of(String name, Tensor tensor, ReductionGroups groups) {
        DataType type = TensorTypes.of(tensor)
                .filter(DataType::isFloat)
                .orElseThrow(() -> new ReductionException("parameter '" + name + "' has element type "
                        + tensor.scalar_type().intern()
                        + "; gradients can be reduced as Float, Double, BFloat16 or Half. Convert the module with"
                        + " to(...)."));
        if (!tensor.is_contiguous()) {
            throw new ReductionException("parameter '" + name + "' of shape " + TensorMemory.shape(tensor)
                    + " is not contiguous. Register tensor.contiguous() instead.");
        }
        return new Parameter(name, tensor, type, tensor.numel(), groups.of(tensor));
    }
}
