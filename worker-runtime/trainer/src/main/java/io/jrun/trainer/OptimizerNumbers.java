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
 */
record OptimizerNumbers(double beta1, double beta2, double epsilon, double momentum, double weightDecay) {
    static final List<String> VALUED = List.of("--betas", "--eps", "--momentum", "--weight-decay");

    /** The weight decay of libtorch's AdamW. */
    private static final double ADAMW_DECAY = 1e-2;

    static OptimizerNumbers of(CommandLineArguments given, boolean isAdamW) {
        refuse(given, !isAdamW, "--betas", "AdamW");
        refuse(given, !isAdamW, "--eps", "AdamW");
        refuse(given, isAdamW, "--momentum", "SGD");
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
                given.zeroOrMore("--weight-decay", isAdamW ? ADAMW_DECAY : 0));
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
