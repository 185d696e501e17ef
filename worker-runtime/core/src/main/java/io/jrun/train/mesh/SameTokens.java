package io.jrun.train.mesh;

import io.jrun.comm.ReduceOp;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorCollectives;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** Checks that ranks which compute one model together get the same tokens. Confined to one thread at a time. */
public final class SameTokens {
    private static final long FACTOR = 1_000_003;

    private final MeshAxis axis;
    private boolean isChecked;

    /** A check for the ranks of an axis. */
    public SameTokens(MeshAxis axis) {
        this.axis = axis;
    }

    /**
     * Compares the tokens of the first call. Collective in the first call: sends 16 bytes, and waits for the device.
     *
     * @param numbers of type Long
     * @throws IllegalArgumentException on all ranks, if ranks have different numbers
     */
    public void require(Tensor numbers) {
        if (isChecked) {
            return;
        }
        isChecked = true;
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Tensor places = torch.arange(new Scalar(numbers.numel()), numbers.options());
            Tensor sum = numbers.reshape(-1)
                    .mul(places.add(new Scalar(1L)).mul(new Scalar(FACTOR)))
                    .add(places)
                    .sum();
            Tensor both = torch.stack(new TensorVector(sum, sum.neg()), 0);
            new TensorCollectives(axis.group()).allReduce(both, ReduceOp.MAX);
            if (DeviceWaits.integer(both.sum()) != 0) {
                throw new IllegalArgumentException("the ranks of the axis '" + axis.name() + "' have different tokens,"
                        + " but they compute one model together. Give them the same samples: divide the data by the"
                        + " coordinate of the data axis, such as mesh.coordinate(\"dp\"), not by the rank of the"
                        + " world.");
            }
        }
    }
}
