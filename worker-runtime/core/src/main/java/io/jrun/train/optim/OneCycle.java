package io.jrun.train.optim;

import java.util.OptionalDouble;

/**
 * The one-cycle policy: the learning rate rises from {@code peak / initialDivisor} to {@code peak}, then falls to
 * {@code peak / initialDivisor / finalDivisor}. The momentum falls while the rate rises, and rises while the rate
 * falls. With {@code threePhases} the rate first falls to its first value, over as many steps as the rise. Equal to
 * torch's OneCycleLR; source: Smith and Topin, arXiv:1708.07120. Thread-safe.
 *
 * @param peak the highest rate
 * @param steps all steps of the job; later steps have the last values
 * @param risePart the part of the steps in which the rate rises, 0 to 1
 * @param linear true for linear changes, false for half a cosine
 */
public record OneCycle(
        double peak,
        long steps,
        double risePart,
        boolean linear,
        boolean threePhases,
        double initialDivisor,
        double finalDivisor,
        double lowMomentum,
        double highMomentum)
        implements LearningRateSchedule {
    public OneCycle {
        if (steps < 2) {
            throw new IllegalArgumentException("steps must be at least 2, not " + steps);
        }
        if (!(risePart >= 0 && risePart <= 1)) {
            throw new IllegalArgumentException("risePart must be between 0 and 1, not " + risePart);
        }
        if (!(peak > 0 && initialDivisor > 0 && finalDivisor > 0)) {
            throw new IllegalArgumentException("peak, initialDivisor and finalDivisor must be more than 0, not " + peak
                    + ", " + initialDivisor + ", " + finalDivisor);
        }
    }

    /** torch's defaults: two phases, 30 % of the steps rise, cosine, divisors 25 and 10,000, momentum 0.85 to 0.95. */
    public static OneCycle of(double peak, long steps) {
        return new OneCycle(peak, steps, 0.3, false, false, 25, 1e4, 0.85, 0.95);
    }

    @Override
    public double at(long step) {
        double low = peak / initialDivisor;
        return value(step, low, peak, threePhases ? low : low / finalDivisor, low / finalDivisor);
    }

    @Override
    public OptionalDouble momentumAt(long step) {
        return OptionalDouble.of(value(step, highMomentum, lowMomentum, highMomentum, highMomentum));
    }

    /**
     * The value of a step: {@code begin} at step 0, {@code turn} at the peak, {@code back} after the fall, {@code end}
     * at the last step.
     */
    private double value(long step, double begin, double turn, double back, double end) {
        double at = Math.clamp(step, 0, steps - 1);
        double top = risePart * steps - 1;
        if (top > 0 && at <= top) {
            return between(begin, turn, at / top);
        }
        double fallen = threePhases ? 2 * risePart * steps - 2 : steps - 1;
        if (at <= fallen) {
            return between(turn, back, (at - top) / (fallen - top));
        }
        return between(back, end, (at - fallen) / (steps - 1 - fallen));
    }

    private double between(double from, double to, double part) {
        return linear ? from + (to - from) * part : to + (from - to) / 2 * (1 + Math.cos(Math.PI * part));
    }
}
