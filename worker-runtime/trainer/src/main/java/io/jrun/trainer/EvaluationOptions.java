package io.jrun.trainer;

import io.jrun.trainer.arguments.CommandLineArguments;
import java.util.List;

/**
 * The evaluations during the training.
 *
 * @param every steps between evaluations; 0 for one at the end only
 * @param patience evaluations without a lower loss after which the training ends; 0 for no end before the last step
 * @param keepsBest whether --out gets the parameters with the lowest loss, and not the last ones
 */
public record EvaluationOptions(int every, int patience, boolean keepsBest) {
    private static final String EVERY = "--eval-every";
    private static final String PATIENCE = "--patience";
    private static final String BEST = "--keep-best";

    static final List<String> VALUED = List.of(EVERY, PATIENCE);
    static final List<String> FLAGS = List.of(BEST);

    static EvaluationOptions of(CommandLineArguments given) {
        EvaluationOptions options =
                new EvaluationOptions(given.number(EVERY, 0, 0), given.number(PATIENCE, 0, 0), given.has(BEST));
        ParallelChecks.refuse(
                options.every == 0 && options.patience > 0,
                PATIENCE + " counts evaluations without a lower loss: give " + EVERY + "=N too");
        ParallelChecks.refuse(
                options.keepsBest && (options.every == 0 || given.text("--out").isEmpty()),
                BEST + " writes the parameters with the lowest held-out loss: give --out=PATH and " + EVERY + "=N too");
        return options;
    }

    /** Whether an evaluation follows step {@code number}, from 1. */
    boolean isDue(long number) {
        return every > 0 && number % every == 0;
    }
}
