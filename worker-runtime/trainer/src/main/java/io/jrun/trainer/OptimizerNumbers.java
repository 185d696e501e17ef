package io.jrun.trainer;

import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.List;

/**
 * The numbers of the optimizers.
 *
 * @param beta1 decay of AdamW's mean of gradients
 * @param beta2 decay of AdamW's mean of squared gradients
 * @param epsilon the number that AdamW adds to its denominator
 * @param momentum decay of SGD's sum of gradients
 * @param weightDecay the share of a parameter that a step with learning rate 1 subtracts
 */
public record OptimizerNumbers(double beta1, double beta2, double epsilon, double momentum, double weightDecay) {
    static final List<String> VALUED = List.of("--betas", "--eps", "--momentum", "--weight-decay");

    /** The weight decay of libtorch's AdamW. */
    private static final double ADAMW_DECAY = 1e-2;

    /** Refuses options of another optimizer. */
    static void check(CommandLineArguments given, boolean isAdamW) {
        refuse(given, !isAdamW, "--betas", "AdamW");
        refuse(given, !isAdamW, "--eps", "AdamW");
        refuse(given, isAdamW, "--momentum", "SGD");
    }

    /** The weight decay of an optimizer without the option. */
    static double defaultWeightDecay(boolean isAdamW) {
        return isAdamW ? ADAMW_DECAY : 0;
    }

    static OptimizerNumbers of(CommandLineArguments given, boolean isAdamW) {
        List<String> betas = given.words("--betas", "0.9,0.999");
        if (betas.size() != 2) {
            throw new InvalidArgumentException(
                    "--betas is '" + String.join(",", betas) + "', expected two numbers with a comma between them");
        }
        return new OptimizerNumbers(
                decay("--betas", betas.getFirst()),
                decay("--betas", betas.getLast()),
                given.zeroOrMore("--eps", 1e-8),
                decay("--momentum", given.text("--momentum").orElse("0.9")),
                given.zeroOrMore("--weight-decay", defaultWeightDecay(isAdamW)));
    }

    /** The same with other decays of AdamW's means. */
    public OptimizerNumbers withBetas(double newBeta1, double newBeta2) {
        return new OptimizerNumbers(newBeta1, newBeta2, epsilon, momentum, weightDecay);
    }

    /** The same with another epsilon. */
    public OptimizerNumbers withEpsilon(double newEpsilon) {
        return new OptimizerNumbers(beta1, beta2, newEpsilon, momentum, weightDecay);
    }

    /** The same with another momentum. */
    public OptimizerNumbers withMomentum(double newMomentum) {
        return new OptimizerNumbers(beta1, beta2, epsilon, newMomentum, weightDecay);
    }

    /** The same with another weight decay. */
    public OptimizerNumbers withWeightDecay(double newDecay) {
        return new OptimizerNumbers(beta1, beta2, epsilon, momentum, newDecay);
    }

    private static void refuse(CommandLineArguments given, boolean isUnused, String option, String user) {
        if (isUnused && given.has(option)) {
            throw new InvalidArgumentException(option + " is an option of " + user);
        }
    }

    private static double decay(String option, String text) {
        try {
            double number = Double.parseDouble(text);
            if (number >= 0 && number < 1) {
                return number;
            }
        } catch (NumberFormatException _) {
            // Not a number: refused below.
        }
        throw new InvalidArgumentException(option + " is '" + text + "', expected 0 or more, and less than 1");
    }
}
