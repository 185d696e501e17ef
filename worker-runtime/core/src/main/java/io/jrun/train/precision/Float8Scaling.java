package io.jrun.train.precision;

import java.util.Arrays;

/**
 * Delayed scaling of one tensor to 8 bits: the scale is computed from the largest magnitudes of the last uses. Source:
 * NVIDIA Transformer Engine, {@code DelayedScaling} with {@code amax_compute_algo = "max"}.
 *
 * <p>Not thread-safe.
 */
public final class Float8Scaling {
    private final Float8 format;
    private final int margin;
    private final float[] history;
    private float scale = 1;

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
        this.margin = margin;
        this.history = new float[historyLength];
    }

    /** The format. */
    public Float8 format() {
        return format;
    }

    /** The factor for the next tensor. */
    public float scale() {
        return scale;
    }

    /**
     * Adds the largest magnitude of a tensor to the history and computes the next scale. After a magnitude that is 0 or
     * not finite the scale does not change.
     *
     * @param amax largest absolute value, before scaling
     */
    public void record(float amax) {
        System.arraycopy(history, 0, history, 1, history.length - 1);
        history[0] = amax;
        float largest = 0;
        for (float seen : history) {
            largest = Math.max(largest, seen);
        }
        if (largest > 0 && Float.isFinite(largest)) {
            float next = format.largest() / largest / (float) Math.scalb(1.0, margin);
            // A denormal magnitude: the quotient is infinite.
            scale = Float.isInfinite(next) ? Float.MAX_VALUE : next;
        }
    }

    /** Magnitudes of the last uses, the latest first. */
    public float[] history() {
        return history.clone();
    }

    /** Loads a saved scale and history. */
    public void load(float savedScale, float[] savedHistory) {
        if (savedHistory.length != history.length) {
            throw new IllegalArgumentException("the saved history has " + savedHistory.length
                    + " magnitudes; this scaling keeps " + history.length);
        }
        System.arraycopy(savedHistory, 0, history, 0, history.length);
        scale = savedScale;
    }

    @Override
    public String toString() {
        return format + " scale " + scale + " history " + Arrays.toString(history);
    }
}
