package io.jrun.trainer;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.tensor.DeferredNumber;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The losses of the steps since the last report and the last norm of the gradients, on a device. The host reads the
 * numbers where a step is reported, with one wait.
 */
final class DeviceNumbers implements AutoCloseable {
    /** The mean loss of all ranks, and the norm of the gradients of the last step that has computed one. */
    record Report(double loss, double norm) {}

    private final TensorCollectives collectives;
    private final Tensor stepLoss;
    /** Sum and number of the losses. */
    private final Tensor sums;

    private final Tensor norm;
    /** One, so that a step makes no tensor from a number of the host. */
    private final Tensor one;

    /** @param group the ranks whose losses are averaged */
    DeviceNumbers(ProcessGroup group, Device device) {
        collectives = new TensorCollectives(group);
        try (PointerScope _ = new PointerScope()) {
            stepLoss = TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Double, 1));
            sums = TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Double, 2));
            norm = TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Double, 1));
            one = TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Double, 1));
        }
        one.fill_(new Scalar(1.0));
        norm.fill_(new Scalar(Double.NaN));
    }

    /** Begins a step: its loss is 0. */
    void begin() {
        stepLoss.zero_();
    }

    /** Adds the loss of a pass to the loss of the step. */
    void add(Tensor loss) {
        try (NoGradGuard _ = new NoGradGuard()) {
            stepLoss.add_(loss.detach());
        }
    }

    /** Stores the norm of the gradients of the step. */
    void setNorm(DeferredNumber ofStep) {
        switch (ofStep) {
            case DeferredNumber.Known known -> norm.fill_(new Scalar(known.value()));
            case DeferredNumber.OnDevice pending -> norm.copy_(pending.scalar());
        }
    }

    /** Adds the loss of the step to the mean, unless the device skips the step. */
    void end(@Nullable Tensor skip) {
        try (PointerScope _ = new PointerScope()) {
            Tensor counted = torch.cat(new TensorVector(stepLoss, one));
            sums.add_(skip == null ? counted : torch.where(skip.gt(new Scalar(0)), new Scalar(0.0), counted));
        }
    }

    /**
     * Returns the numbers of the report, and begins a new mean. Collective. Waits once.
     *
     * @param checks reads its numbers with the same wait
     */
    Report take(FiniteSteps checks) {
        collectives.allReduce(sums, ReduceOp.SUM);
        Tensor state = checks.pending();
        double[] numbers = DeviceWaits.numbers(state == null ? List.of(sums, norm) : List.of(sums, norm, state));
        sums.zero_();
        if (state != null) {
            checks.found(Arrays.copyOfRange(numbers, 3, numbers.length));
            state.close();
        }
        return new Report(numbers[0] / numbers[1], numbers[2]);
    }

    /** The loss of the last step on this rank. Waits. */
    double lastLoss() {
        return DeviceWaits.number(stepLoss);
    }

    @Override
    public void close() {
        List.of(stepLoss, sums, norm, one).forEach(Tensor::close);
    }
}
