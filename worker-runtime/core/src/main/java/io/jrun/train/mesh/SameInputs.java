package io.jrun.train.mesh;

import io.jrun.comm.ReduceOp;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** Checks that ranks which compute one model together get the same inputs. Confined to one thread at a time. */
public final class SameInputs {
    private static final long FACTOR = 1_000_003;

    /** The compared elements of an input of numbers with a fraction. */
    private static final int SAMPLES = 64;

    /** Processors of several kinds round differently, and ranks with other samples differ by far more. */
    private static final double TOLERANCE = 0.05;

    private final MeshAxis axis;
    private boolean isChecked;

    /** A check for the ranks of an axis. */
    public SameInputs(MeshAxis axis) {
        this.axis = axis;
    }

    /**
     * Compares the inputs of the first call. Collective in the first call: sends at most 512 bytes, and waits for the
     * device.
     *
     * @param inputs tokens of type Long, which must be equal, or numbers with a fraction, of which 64 are compared
     * @throws IllegalArgumentException on all ranks, if ranks have different inputs
     */
    public void require(Tensor inputs) {
        if (isChecked) {
            return;
        }
        isChecked = true;
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            boolean isSame = inputs.is_floating_point() ? haveSameNumbers(inputs) : haveSameInputs(inputs);
            if (!isSame) {
                throw new IllegalArgumentException("the ranks of the axis '" + axis.name() + "' have different "
                        + (inputs.is_floating_point() ? "inputs of a layer" : "tokens")
                        + ", but they compute one model together. Give them the same samples: divide the data by the"
                        + " coordinate of the data axis, such as mesh.coordinate(\"dp\"), not by the rank of the"
                        + " world. Dropout before the layer must have the same mask on them, as that of DropoutLayer.");
            }
        }
    }

    private boolean haveSameInputs(Tensor numbers) {
        Tensor places = torch.arange(new Scalar(numbers.numel()), numbers.options());
        Tensor sum = numbers.reshape(-1)
                .mul(places.add(new Scalar(1L)).mul(new Scalar(FACTOR)))
                .add(places)
                .sum();
        return DeviceWaits.integer(bounds(sum).sum()) == 0;
    }

    /** NaN is no difference. */
    private boolean haveSameNumbers(Tensor numbers) {
        Tensor places = torch.arange(
                        new Scalar(SAMPLES), TensorMemory.options(TensorMemory.device(numbers), torch.ScalarType.Long))
                .mul(new Scalar(Math.max(0, numbers.numel() - 1)))
                .floor_divide(new Scalar(SAMPLES - 1));
        Tensor samples = (numbers.numel() == 0 ? places : numbers.reshape(-1).index_select(0, places))
                .to(torch.ScalarType.Float);
        Tensor bounds = bounds(samples);
        Tensor allowed = bounds.abs().max().mul(new Scalar(TOLERANCE));
        return !DeviceWaits.flag(bounds.sum(0).max().gt(allowed));
    }

    /** The largest value of all ranks and the negative of the smallest one: [2] of a scalar, [2, n] of [n]. */
    private Tensor bounds(Tensor values) {
        Tensor both = torch.stack(new TensorVector(values, values.neg()), 0);
        new TensorCollectives(axis.group()).allReduce(both, ReduceOp.MAX);
        return both;
    }
}
