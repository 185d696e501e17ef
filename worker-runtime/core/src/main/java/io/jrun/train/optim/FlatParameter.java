package io.jrun.train.optim;

import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.pytorch.Tensor;

/** One parameter's place in {@link FlatParameters}, and its number of steps. */
final class FlatParameter {
    /**
     * The size of a cache line and of the widest vector register. With this alignment kernels have no scalar remainder,
     * which would round differently.
     */
    private static final long ALIGNMENT_BYTES = 64;

    private final String name;
    private final Tensor tensor;
    private final int group;
    private final long offset;
    private long steps;
    private long stepNumbers;

    /** {@code offset} counts elements. */
    FlatParameter(String name, Tensor tensor, int group, long offset) {
        this.name = name;
        this.tensor = tensor;
        this.group = group;
        this.offset = offset;
    }

    String name() {
        return name;
    }

    Tensor tensor() {
        return tensor;
    }

    /** Number of the parameter group. */
    int group() {
        return group;
    }

    long offset() {
        return offset;
    }

    /** The offset of the next parameter: the end of this parameter, rounded up to a whole cache line. */
    long end() {
        long alignment = ALIGNMENT_BYTES / tensor.element_size();
        return offset + Math.ceilDiv(tensor.numel(), alignment) * alignment;
    }

    long steps() {
        return steps;
    }

    void setSteps(long done) {
        steps = done;
        stepNumbers = done;
    }

    /**
     * Counts one more step, and tells libtorch that the values have changed: a backward pass that needs the values of
     * before is then an error. {@code number} is the number of the step of the optimizer.
     */
    void stepDone(long number) {
        steps++;
        stepNumbers = 31 * stepNumbers + number;
        TensorMemory.noteWrite(tensor);
    }

    /** Whether both parameters took part in the same steps. A step that the device skips then counts for both alike. */
    boolean hasSameSteps(FlatParameter other) {
        return steps == other.steps && stepNumbers == other.stepNumbers;
    }

    /** The gradient; undefined if the parameter has none. */
    Tensor gradient() {
        return tensor.mutable_grad();
    }

    /** The part of a flat tensor that belongs to this parameter, in the parameter's shape. */
    Tensor view(Tensor flat) {
        return flat.narrow(0, offset, tensor.numel()).view(TensorMemory.sizes(tensor));
    }
}
