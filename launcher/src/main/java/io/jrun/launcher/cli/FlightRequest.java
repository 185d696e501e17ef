package io.jrun.launcher.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What {@code jrun flight-recorder} was asked for.
 *
 * @param job a folder, or the run id of a job
 * @param directory the same as a path, absolute
 */
public record FlightRequest(String job, Path directory, boolean json) {
    private static final String USAGE = "jrun flight-recorder JOB [--json]";

    /**
     * Reads the words after {@code flight-recorder}.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    public static FlightRequest parse(List<String> args, CommandContext commandContext) {
        List<String> words = new ArrayList<>(args);
        boolean json = words.removeIf("--json"::equals);
        for (String word : words) {
            if (word.startsWith("-")) {
                throw new UsageException("unknown option '" + word + "'; usage: " + USAGE + ".");
            }
        }
        if (words.size() != 1) {
            throw new UsageException(
                    (words.isEmpty() ? "JOB is missing" : "one JOB is expected, but '" + words.get(1) + "' follows")
                            + "; usage: " + USAGE + ".");
        }
        return new FlightRequest(words.getFirst(), commandContext.resolve(words.getFirst()), json);
    }

    /** What {@code jrun flight-recorder --help} prints. */
    public static String help() {
        return new HelpPage(USAGE)
                .about(
                        "Compares the last collectives of all ranks of a failed job. Names the rank that diverged and the call,"
                                + " and the ranks that came last.")
                .word(
                        "JOB",
                        "Run id of the job, its log folder LOG_DIR/RUN_ID (the last attempt counts), or one of its attempt folders.")
                .option(HelpPage.flag(List.of("--json"), "Print one JSON object instead of tables."))
                .option(HelpPage.help())
                .text();
    }
}
