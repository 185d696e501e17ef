package io.jrun.launcher.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What {@code jrun flight-recorder} was asked for.
 *
 * @param directory as given, absolute
 */
public record FlightRequest(Path directory, boolean json) {
    private static final String USAGE = "jrun flight-recorder DIR [--json]";

    /**
     * Reads the words after {@code flight-recorder}.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    public static FlightRequest parse(List<String> args, Surroundings surroundings) {
        List<String> words = new ArrayList<>(args);
        boolean json = words.removeIf("--json"::equals);
        for (String word : words) {
            if (word.startsWith("-")) {
                throw new UsageException("unknown option '" + word + "'; usage: " + USAGE + ".");
            }
        }
        if (words.size() != 1) {
            throw new UsageException(
                    (words.isEmpty() ? "DIR is missing" : "one DIR is expected, but '" + words.get(1) + "' follows")
                            + "; usage: " + USAGE + ".");
        }
        return new FlightRequest(surroundings.resolve(words.getFirst()), json);
    }

    /** What {@code jrun flight-recorder --help} prints. */
    public static String help() {
        return new HelpPage(USAGE)
                .about(
                        "Compares the last collectives of all ranks of a failed job. Names the rank that diverged and the call,"
                                + " and the ranks that came last.")
                .word("DIR", "Log folder of the job, LOG_DIR/RUN_ID (its last attempt), or one of its attempt folders.")
                .option(HelpPage.flag(List.of("--json"), "Print one JSON object instead of tables."))
                .option(HelpPage.help())
                .text();
    }
}
