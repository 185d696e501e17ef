package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import java.time.DateTimeException;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAccessor;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;

/**
 * The command line of {@code ps} or another command about jobs.
 *
 * @param jobs run ids, their unambiguous beginnings, or log folders; empty for {@code ps}
 * @param options the given switches
 * @param ranks the chosen ranks; empty for all
 * @param tail the number of lines at the end of each file; empty for all
 * @param since wall clock in milliseconds since 1970, from which on output is printed; empty for all output
 * @param endedBeforeDays the number of days after their end from which on jobs are removed; empty for the named jobs
 *     only
 */
public record JobsRequest(
        SubCommand command,
        List<String> jobs,
        Set<CommandLineOption> options,
        Optional<Set<Integer>> ranks,
        OptionalInt tail,
        OptionalLong since,
        OptionalInt endedBeforeDays) {
    private static final int MOST_DAYS = 36_500;

    public JobsRequest {
        jobs = List.copyOf(jobs);
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
                line.words(),
                line.options().keySet(),
                line.value(CommandOption.RANK).map(ranks -> OptionValues.ranks(ranks, CommandOption.RANK.longName())),
                line.value(CommandOption.TAIL)
                        .map(lines -> OptionalInt.of(
                                OptionValues.count(lines, CommandOption.TAIL.longName(), 0, Integer.MAX_VALUE)))
                        .orElse(OptionalInt.empty()),
                line.value(CommandOption.SINCE)
                        .map(text -> OptionalLong.of(since(text, CommandOption.SINCE.longName())))
                        .orElse(OptionalLong.empty()),
                line.value(CommandOption.ENDED_BEFORE)
                        .map(days -> OptionalInt.of(
                                OptionValues.count(days, CommandOption.ENDED_BEFORE.longName(), 0, MOST_DAYS)))
                        .orElse(OptionalInt.empty()));
    }

    /** Reads a time of the day, or a time before now. */
    private static long since(String text, String name) {
        try {
            if (text.indexOf('T') < 0) {
                return System.currentTimeMillis()
                        - OptionValues.time(text, name).toMillis();
            }
            TemporalAccessor time =
                    DateTimeFormatter.ISO_DATE_TIME.parseBest(text.strip(), ZonedDateTime::from, LocalDateTime::from);
            return (time instanceof ZonedDateTime zoned
                            ? zoned
                            : LocalDateTime.from(time).atZone(ZoneId.systemDefault()))
                    .toInstant()
                    .toEpochMilli();
        } catch (DateTimeException | UsageException e) {
            throw OptionValues.refused(name, text, "a time before now (90s, 10m, 2h) or a time as 2026-11-26T09:30");
        }
    }

    /** The job of a command with one job. */
    public String job() {
        return jobs.getFirst();
    }

    /** Whether {@code option} was given. */
    public boolean has(CommandOption option) {
        return options.contains(option);
    }
}
