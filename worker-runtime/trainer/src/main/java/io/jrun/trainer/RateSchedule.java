package io.jrun.trainer;

import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.OneCycle;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.List;

/**
 * The options of the learning rate.
 *
 * @param warmup steps until the peak
 * @param curve the learning rates of these steps
 * @param floor learning rate of the last step of {@code cosine} and {@code linear}, as a share of the peak
 */
public record RateSchedule(Kind kind, int warmup, Curve curve, double floor) {
    static final List<String> VALUED = List.of("--lr-schedule", "--lr-floor", "--warmup", "--warmup-curve");

    /** The learning rate after the warm-up. */
    public enum Kind {
        /** Half a cosine down to the floor. */
        COSINE,
        /** A line down to the floor. */
        LINEAR,
        /** The peak. */
        CONSTANT,
        /** torch's OneCycleLR with its momentum, without a warm-up. */
        ONE_CYCLE
    }

    /** The learning rate of the warm-up. */
    public enum Curve {
        /** Step n of the warm-up has the share n / warmup of the peak. */
        LINEAR,
        /** Step n has the share log(n) / log(warmup): DeepSpeed's warmup_type log. */
        LOG
    }

    static RateSchedule of(CommandLineArguments given, int defaultWarmup) {
        double floor = given.zeroOrMore("--lr-floor", 0.1);
        if (floor > 1) {
            throw new InvalidArgumentException("--lr-floor is '" + floor + "', expected a number from 0 to 1");
        }
        return new RateSchedule(
                given.word("--lr-schedule", Kind.COSINE),
                given.number("--warmup", defaultWarmup, 0),
                given.word("--warmup-curve", Curve.LINEAR),
                floor);
    }

    /** The learning rate of each of {@code steps} steps; for one-cycle also the momentum. */
    LearningRateSchedule of(double peak, int steps) {
        if (kind == Kind.ONE_CYCLE) {
            return OneCycle.of(peak, Math.max(2, steps));
        }
        return step -> step < warmup
                ? peak * warmupFactor(step)
                : peak * factor(Math.min(1.0, (step - warmup) / (double) Math.max(1, steps - warmup)));
    }

    private double warmupFactor(long step) {
        return switch (curve) {
            case LINEAR -> (step + 1) / (double) warmup;
            case LOG -> StrictMath.log(step + 1.0) / StrictMath.log(Math.max(2, warmup));
        };
    }

    /** The factor of the peak; {@code progress} goes from 0 to 1. */
    private double factor(double progress) {
        return switch (kind) {
            case COSINE -> floor + (1 - floor) / 2 * (1 + StrictMath.cos(Math.PI * progress));
            case LINEAR -> 1 - (1 - floor) * progress;
            case CONSTANT, ONE_CYCLE -> 1;
        };
    }
}
