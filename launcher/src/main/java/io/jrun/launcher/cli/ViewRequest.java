package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import java.util.Optional;

/**
 * The command line of {@code dashboard}, {@code top}, {@code trace} or {@code report}.
 *
 * @param job a run id, its unambiguous beginning, or a log folder; empty if the command needs none
 * @param output the file to write, {@code -} for stdout; empty for the default
 * @param port the port of the dashboard, 0 for any free port
 * @param opensBrowser whether the dashboard opens the user's browser
 */
public record ViewRequest(
        SubCommand command, Optional<String> job, Optional<String> output, int port, boolean opensBrowser) {
    private static final int MOST_PORT = 65535;

    /**
     * Reads the command line of {@code command}.
     *
     * @throws UsageException with one line for the user, if the command line is impossible
     */
    public static ViewRequest of(SubCommand command, ParsedCommand line) {
        return new ViewRequest(
                command,
                Optional.of(line.word("")).filter(job -> !job.isEmpty()),
                line.value(CommandOption.RESULT_FILE),
                line.value(CommandOption.PORT)
                        .map(port -> OptionValues.count(port, CommandOption.PORT.longName(), 0, MOST_PORT))
                        .orElse(0),
                !line.has(CommandOption.NO_OPEN));
    }
}
