package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import java.util.Map;

/**
 * The environment variables with numbers that the runtime of Java workers reads. jrun checks the variables before any
 * worker starts: otherwise each rank fails with a line of its own. Stateless.
 */
final class RuntimeVariables {
    private static final int LEAST_PIECE = 4096;
    private static final int MOST_CONNECTIONS = 16;

    private RuntimeVariables() {}

    /** @throws UsageException if a variable has a value that workers refuse. An empty value is no value. */
    static void check(Map<String, String> environment) {
        check(environment, "JRUN_TIMEOUT_SECONDS", 1, Integer.MAX_VALUE);
        check(environment, "JRUN_LATE_WARNING_SECONDS", 1, Integer.MAX_VALUE);
        check(environment, "JRUN_CONNECTIONS", 1, MOST_CONNECTIONS);
        check(environment, "JRUN_PIECE_BYTES", LEAST_PIECE, Integer.MAX_VALUE);
        check(environment, "JRUN_DETERMINISTIC", 0, 1);
    }

    private static void check(Map<String, String> environment, String name, int least, int most) {
        String text = environment.getOrDefault(name, "");
        if (!text.isEmpty()) {
            int _ = OptionValues.count(text, name, least, most);
        }
    }
}
