package io.jrun.trainer;

import io.jrun.trainer.arguments.CommandLineArguments;
import java.util.List;

/**
 * The text that the trained model generates.
 *
 * @param count tokens after the prompt; 0 for no text
 * @param every steps between texts; 0 for one at the end only
 * @param prompt the begin of the text
 * @param temperature divides the logits; 0 takes the most probable token
 */
public record SamplingOptions(int count, int every, String prompt, double temperature) {
    private static final String COUNT = "--sample";
    private static final String EVERY = "--sample-every";
    private static final String PROMPT = "\n    /**\n     * Returns ";
    private static final double TEMPERATURE = 0.8;
    private static final int LARGEST_COUNT = 1 << 20;

    static final List<String> VALUED = List.of(COUNT, EVERY, "--prompt", "--temperature");

    static SamplingOptions of(CommandLineArguments given) {
        SamplingOptions options = new SamplingOptions(
                given.number(COUNT, 0, 0, LARGEST_COUNT),
                given.number(EVERY, 0, 0),
                given.text("--prompt").orElse(PROMPT),
                given.zeroOrMore("--temperature", TEMPERATURE));
        for (String option : List.of(EVERY, "--prompt", "--temperature")) {
            ParallelChecks.refuse(
                    given.has(option) && options.count == 0, option + " needs --sample=N, the tokens to generate");
        }
        return options;
    }

    /** Whether a text follows step {@code number}, from 1. */
    boolean isDue(long number) {
        return every > 0 && number % every == 0;
    }
}
