package io.jrun.trainer;

import io.jrun.comm.Device;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.UpdateRule;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.List;
import java.util.stream.Stream;

/**
 * The options of the update of the parameters.
 *
 * @param isOptimizerGiven whether the optimizer is chosen; on a GPU the default is {@link OptimizerKind#FUSED}
 * @param numbers of the optimizer
 * @param rate the course of the learning rate
 * @param clip largest global norm of the gradients; 0 for no limit
 * @param decaysMatricesOnly whether biases and norms are a parameter group without weight decay
 * @param isInHook whether the communication hook updates the parameters of a bucket, or with states in files the
 *     backward pass those of a layer
 * @param averageDecay decay of the average of the parameters; 0 for no average
 */
public record UpdateOptions(
        OptimizerKind optimizer,
        boolean isOptimizerGiven,
        OptimizerNumbers numbers,
        RateSchedule rate,
        double clip,
        boolean decaysMatricesOnly,
        boolean isInHook,
        double averageDecay) {
    static final List<String> VALUED = Stream.of(
                    List.of("--optimizer", "--clip", "--ema"), OptimizerNumbers.VALUED, RateSchedule.VALUED)
            .flatMap(List::stream)
            .toList();
    static final List<String> FLAGS = List.of("--decay-matrices", "--update-in-hook");

    /** The optimizers. */
    public enum OptimizerKind {
        /** libtorch's SGD. */
        SGD,
        /** libtorch's AdamW. */
        ADAMW,
        /** AdamW over flat memory, in one kernel call. */
        FUSED,
        /** SGD over flat memory, in one kernel call. */
        FUSED_SGD;

        /** Whether the optimizer is jrun's optimizer over flat memory. */
        boolean isFlat() {
            return this == FUSED || this == FUSED_SGD;
        }

        /** Whether the optimizer is a form of AdamW. */
        boolean isAdamW() {
            return this == FUSED || this == ADAMW;
        }

        /** Optimizers of a family have the same state. */
        String family() {
            return isAdamW() ? "AdamW" : "SGD";
        }
    }

    static UpdateOptions of(CommandLineArguments given, int defaultWarmup) {
        OptimizerKind optimizer = given.word("--optimizer", OptimizerKind.ADAMW);
        return new UpdateOptions(
                optimizer,
                given.text("--optimizer").isPresent(),
                OptimizerNumbers.of(given, optimizer.isAdamW()),
                RateSchedule.of(given, defaultWarmup),
                given.zeroOrMore("--clip", 1),
                given.has("--decay-matrices"),
                given.has("--update-in-hook"),
                averageDecay(given));
    }

    /** Checks the options against each other. */
    void check(CommandLineArguments given) {
        OptimizerNumbers.check(given, optimizer.isAdamW());
        refuse(decaysMatricesOnly && !optimizer.isFlat(), "--decay-matrices needs --optimizer=fused or fused-sgd");
        refuse(isInHook && !optimizer.isFlat(), "--update-in-hook needs --optimizer=fused or fused-sgd");
        refuse(
                isInHook && clip > 0,
                "--update-in-hook updates parameters before the norm of all gradients is known: give --clip=0");
    }

    /** The same with another optimizer. */
    public UpdateOptions withOptimizer(OptimizerKind newOptimizer, OptimizerNumbers newNumbers) {
        return new UpdateOptions(
                newOptimizer, true, newNumbers, rate, clip, decaysMatricesOnly, isInHook, averageDecay);
    }

    /** The same with another course of the learning rate. */
    public UpdateOptions withRate(RateSchedule newRate) {
        return new UpdateOptions(
                optimizer, isOptimizerGiven, numbers, newRate, clip, decaysMatricesOnly, isInHook, averageDecay);
    }

    /** The same with another limit of the norm of the gradients; 0 for none. */
    public UpdateOptions withClip(double newClip) {
        return new UpdateOptions(
                optimizer, isOptimizerGiven, numbers, rate, newClip, decaysMatricesOnly, isInHook, averageDecay);
    }

    /** The same on a device. A GPU has the fused AdamW by default: libtorch's AdamW is twelve launches a parameter. */
    UpdateOptions onDevice(Device device) {
        return isOptimizerGiven || device.isCpu()
                ? this
                : new UpdateOptions(
                        OptimizerKind.FUSED, false, numbers, rate, clip, decaysMatricesOnly, isInHook, averageDecay);
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

    /** The arithmetic of an optimizer over flat memory. */
    UpdateRule rule() {
        return optimizer.isAdamW()
                ? new FusedAdamW(numbers.beta1(), numbers.beta2(), numbers.epsilon())
                : new FusedSgd(numbers.momentum(), false);
    }

    /** Tensors that the optimizer keeps for each parameter. */
    int stateTensors() {
        if (optimizer.isAdamW()) {
            return 2;
        }
        return numbers.momentum() > 0 ? 1 : 0;
    }

    /** The parameter groups of an optimizer over flat memory. */
    List<ParameterGroup> groups() {
        return decaysMatricesOnly
                ? ParameterGroup.decayMatrices(numbers.weightDecay())
                : ParameterGroup.all(numbers.weightDecay());
    }
}
