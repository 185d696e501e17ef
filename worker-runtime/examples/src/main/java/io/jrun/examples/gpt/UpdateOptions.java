package io.jrun.examples.gpt;

import io.jrun.examples.options.CommandLineArguments;
import io.jrun.examples.options.InvalidArgumentException;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.OneCycle;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.UpdateRule;
import java.util.List;

/**
 * The options of the update of the parameters.
 *
 * @param clip largest global norm of the gradients; 0 for no limit
 * @param decaysMatricesOnly whether biases and norms are a parameter group without weight decay
 * @param isInHook whether the communication hook updates the parameters of a bucket
 * @param averageDecay decay of the average of the parameters; 0 for no average
 */
record UpdateOptions(
        OptimizerKind optimizer,
        Schedule schedule,
        int warmup,
        double clip,
        double weightDecay,
        boolean decaysMatricesOnly,
        boolean isInHook,
        double averageDecay) {
    static final List<String> VALUED =
            List.of("--optimizer", "--lr-schedule", "--warmup", "--clip", "--weight-decay", "--ema");
    static final List<String> FLAGS = List.of("--decay-matrices", "--update-in-hook");

    /** The momentum of both kinds of SGD. */
    static final double MOMENTUM = 0.9;

    /** The weight decay of libtorch's AdamW. */
    private static final double ADAMW_DECAY = 1e-2;

    /** The optimizers. */
    enum OptimizerKind {
        SGD,
        ADAMW,
        FUSED,
        FUSED_SGD;

        /** Whether the optimizer is jrun's optimizer over flat memory. */
        boolean isFlat() {
            return this == FUSED || this == FUSED_SGD;
        }

        /** Whether the optimizer is a form of AdamW. */
        boolean isAdamW() {
            return this == FUSED || this == ADAMW;
        }
    }

    /** The learning rate after the warm-up. */
    enum Schedule {
        COSINE,
        LINEAR,
        CONSTANT,
        ONE_CYCLE;

        /** The factor of the peak; {@code progress} goes from 0 to 1. */
        private double factor(double progress) {
            return switch (this) {
                case COSINE -> 0.1 + 0.45 * (1 + StrictMath.cos(Math.PI * progress));
                case LINEAR -> 1 - 0.9 * progress;
                case CONSTANT, ONE_CYCLE -> 1;
            };
        }
    }

    static UpdateOptions of(CommandLineArguments given, int defaultWarmup) {
        OptimizerKind optimizer = given.word("--optimizer", OptimizerKind.ADAMW);
        UpdateOptions options = new UpdateOptions(
                optimizer,
                given.word("--lr-schedule", Schedule.COSINE),
                given.number("--warmup", defaultWarmup, 0),
                given.zeroOrMore("--clip", 1),
                given.zeroOrMore("--weight-decay", optimizer.isAdamW() ? ADAMW_DECAY : 0),
                given.has("--decay-matrices"),
                given.has("--update-in-hook"),
                averageDecay(given));
        refuse(
                options.decaysMatricesOnly && !optimizer.isFlat(),
                "--decay-matrices needs --optimizer=fused or fused-sgd");
        refuse(options.isInHook && !optimizer.isFlat(), "--update-in-hook needs --optimizer=fused or fused-sgd");
        refuse(
                options.isInHook && options.clip > 0,
                "--update-in-hook updates parameters before the norm of all gradients is known: give --clip=0");
        return options;
    }

    private static double averageDecay(CommandLineArguments given) {
        double decay = given.text("--ema").isEmpty() ? 0 : given.positive("--ema", 1);
        refuse(decay >= 1, "--ema is '" + decay + "', expected a number above 0 and below 1");
        return decay;
    }

    private static void refuse(boolean isUnsupported, String message) {
        if (isUnsupported) {
            throw new InvalidArgumentException(message);
        }
    }

    /** The learning rate of each of {@code steps} steps; for one-cycle also the momentum. */
    LearningRateSchedule schedule(double peak, int steps) {
        if (schedule == Schedule.ONE_CYCLE) {
            return OneCycle.of(peak, Math.max(2, steps));
        }
        return step -> step < warmup
                ? peak * (step + 1) / warmup
                : peak * schedule.factor(Math.min(1.0, (step - warmup) / (double) Math.max(1, steps - warmup)));
    }

    /** The arithmetic of an optimizer over flat memory. */
    UpdateRule rule() {
        return optimizer.isAdamW() ? FusedAdamW.DEFAULT : new FusedSgd(MOMENTUM, false);
    }

    /** The parameter groups of an optimizer over flat memory. */
    List<ParameterGroup> groups() {
        return decaysMatricesOnly ? ParameterGroup.decayMatrices(weightDecay) : ParameterGroup.all(weightDecay);
    }
}
