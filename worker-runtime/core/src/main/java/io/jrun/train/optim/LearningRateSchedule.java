package io.jrun.train.optim;

import java.util.List;
import java.util.OptionalDouble;

/**
 * The learning rate of each step. A pure function of the step: a resumed job needs the number of the step only. The
 * values equal the values of {@code torch.optim.lr_scheduler} up to rounding: jrun uses closed forms, torch uses
 * running products. Thread-safe.
 */
@FunctionalInterface
public interface LearningRateSchedule {
    /**
     * The learning rate of a step.
     *
     * @param step number of optimizer steps before this one, 0 or more
     */
    double at(long step);

    /**
     * The momentum (SGD) or the first beta (AdamW) of a step; empty if the optimizer keeps its own.
     *
     * @param step number of optimizer steps before this one, 0 or more
     */
    default OptionalDouble momentumAt(long step) {
        return OptionalDouble.empty();
    }

    /** A constant rate. */
    static LearningRateSchedule constant(double rate) {
        requireRate("rate", rate);
        return _ -> rate;
    }

    /**
     * A linear change from {@code rate * startFactor} at step 0 to {@code rate * endFactor} at step {@code steps}, then
     * constant: torch's LinearLR.
     */
    static LearningRateSchedule linear(double rate, double startFactor, double endFactor, long steps) {
        requireRate("rate", rate);
        requireRate("startFactor", startFactor);
        requireRate("endFactor", endFactor);
        requireSteps(steps);
        return step -> rate * (startFactor + (endFactor - startFactor) * Math.min(step, steps) / steps);
    }

    /**
     * Half a cosine from {@code rate} at step 0 to {@code minimum} at step {@code steps}, then constant. torch's
     * CosineAnnealingLR rises again after {@code steps}.
     */
    static LearningRateSchedule cosine(double rate, long steps, double minimum) {
        requireRate("rate", rate);
        requireRate("minimum", minimum);
        requireSteps(steps);
        return step -> minimum + (rate - minimum) * (1 + Math.cos(Math.PI * Math.min(step, steps) / steps)) / 2;
    }

    /**
     * A linear warm-up from {@code rate * startFactor} over {@code warmupSteps}, then half a cosine to {@code minimum}
     * at step {@code steps}: torch's SequentialLR of LinearLR and CosineAnnealingLR.
     */
    static LearningRateSchedule warmupCosine(
            double rate, double startFactor, long warmupSteps, long steps, double minimum) {
        if (steps <= warmupSteps) {
            throw new IllegalArgumentException(
                    "steps (" + steps + ") must be more than warmupSteps (" + warmupSteps + ")");
        }
        return warmupSteps == 0
                ? cosine(rate, steps, minimum)
                : sequence(
                        List.of(linear(rate, startFactor, 1, warmupSteps), cosine(rate, steps - warmupSteps, minimum)),
                        List.of(warmupSteps));
    }

    /**
     * A sequence of schedules. Each schedule counts steps from its own begin: torch's SequentialLR.
     *
     * @param begins first steps, ascending; schedule i + 1 begins at step {@code begins.get(i)}
     */
    static LearningRateSchedule sequence(List<LearningRateSchedule> schedules, List<Long> begins) {
        List<LearningRateSchedule> parts = List.copyOf(schedules);
        List<Long> starts = List.copyOf(begins);
        if (parts.isEmpty() || starts.size() != parts.size() - 1) {
            throw new IllegalArgumentException(
                    parts.size() + " schedules need " + (parts.size() - 1) + " begins, not " + starts.size());
        }
        for (int i = 1; i < starts.size(); i++) {
            if (starts.get(i) <= starts.get(i - 1)) {
                throw new IllegalArgumentException("begins must ascend: " + starts);
            }
        }
        return new ScheduleSequence(parts, starts);
    }

    private static void requireRate(String name, double rate) {
        if (!(rate >= 0) || Double.isInfinite(rate)) {
            throw new IllegalArgumentException(name + " must be a finite number of 0 or more, not " + rate);
        }
    }

    private static void requireSteps(long steps) {
        if (steps < 1) {
            throw new IllegalArgumentException("steps must be at least 1, not " + steps);
        }
    }
}
