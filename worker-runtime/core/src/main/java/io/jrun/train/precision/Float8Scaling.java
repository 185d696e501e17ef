package io.jrun.train.precision;

import io.jrun.comm.Device;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Delayed scaling of one tensor to 8 bits: the scale is computed from the largest magnitudes of the last uses. Source:
 * NVIDIA Transformer Engine, {@code DelayedScaling} with {@code amax_compute_algo = "max"}.
 *
 * <p>The scale and the history lie on the device of the last encoded tensor. {@link #encode} queues work there, and the
 * host does not wait. Not thread-safe.
 */
public final class Float8Scaling implements AutoCloseable {
    private final Float8 format;
    private final int historyLength;

    /** The largest number of the format, divided by the margin. */
    private final float target;

    /** float32, [1 + history length]: the scale, and the magnitudes of the last uses, the latest first. */
    private Tensor state;

    /**
     * A scaling before its first tensor, with a scale of 1.
     *
     * @param historyLength number of uses whose magnitudes count, 1 or more
     * @param margin the scale is divided by 2 to this power, so that growing values do not saturate
     */
    public Float8Scaling(Float8 format, int historyLength, int margin) {
        if (historyLength < 1) {
            throw new IllegalArgumentException("historyLength must be at least 1, not " + historyLength);
        }
        this.format = format;
        this.historyLength = historyLength;
        target = Math.scalb(format.largest(), -margin);
        state = onHost(1, new float[historyLength]);
    }

    private static Tensor onHost(float scale, float[] history) {
        float[] all = new float[1 + history.length];
        all[0] = scale;
        System.arraycopy(history, 0, all, 1, history.length);
        try (PointerScope _ = new PointerScope()) {
            return TensorMemory.own(DeviceTensors.of(Device.CPU, all, all.length));
        }
    }

    /** The format. */
    public Float8 format() {
        return format;
    }

    /** The factor for the next tensor. Waits for the device. */
    public float scale() {
        return values()[0];
    }

    /** Magnitudes of the last uses, the latest first. Waits for the device. */
    public float[] history() {
        float[] values = values();
        return Arrays.copyOfRange(values, 1, values.length);
    }

    /** The scale, and the magnitudes of the last uses, the latest first. Waits for the device. */
    float[] values() {
        double[] wide = DeviceWaits.numbers(List.of(state));
        float[] values = new float[wide.length];
        for (int i = 0; i < wide.length; i++) {
            values[i] = (float) wide[i];
        }
        return values;
    }

    /**
     * Rounds {@code values * scale} to 8 bits, and adds the largest magnitude of the values to the history. The second
     * computation of a recomputed segment has the scale of the first one, and changes nothing.
     *
     * @param values [rows, columns]
     */
    Float8Tensor encode(Tensor values) {
        return encode(values, RepeatedScales.next(() -> scaleAndRecord(values)));
    }

    /** Rounds {@code values * scale} to 8 bits with the present scale, and changes nothing: for an evaluation. */
    Float8Tensor encodeOnly(Tensor values) {
        moveTo(values);
        return encode(values, state.narrow(0, 0, 1));
    }

    private Float8Tensor encode(Tensor values, Tensor scale) {
        return new Float8Tensor(format.encode(values.mul(scale)), scale.reciprocal());
    }

    private Tensor scaleAndRecord(Tensor values) {
        moveTo(values);
        Tensor scale = state.narrow(0, 0, 1).clone();
        try (PointerScope _ = new PointerScope()) {
            record(values.abs().max());
        }
        return scale;
    }

    /**
     * Adds the largest magnitude of a tensor to the history and computes the next scale. After a magnitude that is 0 or
     * not finite the scale does not change.
     *
     * @param amax largest absolute value, before scaling: float32, one element
     */
    void record(Tensor amax) {
        moveTo(amax);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Tensor scale = state.narrow(0, 0, 1);
            Tensor history = state.narrow(0, 1, historyLength);
            history.copy_(torch.cat(new TensorVector(amax.view(1), history.narrow(0, 0, historyLength - 1L))));
            Tensor largest = history.max();
            Tensor next = torch.full_like(largest, new Scalar(target)).div(largest);
            // The quotient of an infinite magnitude is 0. Comparisons with NaN are false.
            Tensor isUsable = largest.gt(new Scalar(0f)).logical_and(next.gt(new Scalar(0f)));
            // The quotient of a denormal magnitude is infinite.
            scale.copy_(torch.where(isUsable, next.clamp_max(new Scalar(Float.MAX_VALUE)), scale));
        }
    }

    private void moveTo(Tensor values) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            if (!state.device().equals(values.device())) {
                replace(TensorMemory.own(state.to(values.device(), torch.ScalarType.Float)));
            }
        }
    }

    private void replace(Tensor next) {
        state.close();
        state = next;
    }

    /** Loads a saved scale and history. */
    public void load(float savedScale, float[] savedHistory) {
        if (savedHistory.length != historyLength) {
            throw new IllegalArgumentException("the saved history has " + savedHistory.length
                    + " magnitudes; this scaling keeps " + historyLength);
        }
        replace(onHost(savedScale, savedHistory));
    }

    /** Frees the scale and the history. */
    @Override
    public void close() {
        state.close();
    }

    @Override
    public String toString() {
        return format + " scale " + scale() + " history " + Arrays.toString(history());
    }
}
