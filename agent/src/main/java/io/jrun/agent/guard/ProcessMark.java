package io.jrun.agent.guard;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Numbers by which the processes of a round are found again: each worker starts with one as its limit of real-time CPU time
 * (RLIMIT_RTTIME, in microseconds), thousands of years that no program uses up. The kernel hands the limit on to every
 * descendant. A process that leaves its group, its session, its parent and its environment keeps it, and no process without
 * privileges can raise it. Source: getrlimit(2). Immutable.
 */
final class ProcessMark {
    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final Pattern HARD_LIMIT = Pattern.compile("Max realtime timeout +\\S+ +(\\d+) ");

    /** So many numbers that no two jobs of one machine draw the same. */
    private static final long SPREAD = 1L << 61;

    /** The same below the mark of a job that has started this one. */
    private static final long NESTED_SPREAD = 1L << 40;

    private final long first;

    private ProcessMark(long first) {
        this.first = first;
    }

    /** Numbers that this process may set as limits. */
    static ProcessMark ofThisProcess() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        long limit = hardLimit();
        return new ProcessMark(
                limit == Long.MAX_VALUE
                        ? limit - random.nextLong(SPREAD)
                        : limit - random.nextLong(Math.max(1, Math.min(NESTED_SPREAD, limit / 2))));
    }

    /** The mark of a round. */
    long of(int round) {
        return first - round;
    }

    private static long hardLimit() {
        try {
            Matcher line = HARD_LIMIT.matcher(Files.readString(LIMITS));
            return line.find() ? Long.parseLong(line.group(1)) : Long.MAX_VALUE;
        } catch (IOException | NumberFormatException e) {
            return Long.MAX_VALUE; // unlimited, in a kernel's own way of saying so
        }
    }
}
