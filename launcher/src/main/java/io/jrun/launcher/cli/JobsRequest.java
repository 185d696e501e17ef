package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * The command line of {@code ps} or another command about jobs.
 *
 * @param job a run id, its unambiguous beginning, or a log folder; empty for {@code ps}
 * @param options the given switches
 * @param ranks the chosen ranks; empty for all
 * @param tail the number of lines at the end of each file; empty for all
 */
public record JobsRequest(
        SubCommand command,
        String job,
        Set<CommandLineOption> options,
        Optional<Set<Integer>> ranks,
        OptionalInt tail) {
    public JobsRequest {
        options = Set.copyOf(options);
    }

    /**
     * Reads the command line of {@code command}.
     *
     * @throws UsageException with one line for the user, if the command line is impossible
     */
    public static JobsRequest of(SubCommand command, ParsedCommand line) {
        return new JobsRequest(
                command,
                line.word(""),
                line.options().keySet(),
                line.value(CommandOption.RANK).map(ranks -> OptionValues.ranks(ranks, CommandOption.RANK.longName())),
                line.value(CommandOption.TAIL)
                        .map(lines -> OptionalInt.of(
                                OptionValues.count(lines, CommandOption.TAIL.longName(), 0, Integer.MAX_VALUE)))
                        .orElse(OptionalInt.empty()));
    }

    /** Whether {@code option} was given. */
    public boolean has(CommandOption option) {
        return options.contains(option);
    }
}
