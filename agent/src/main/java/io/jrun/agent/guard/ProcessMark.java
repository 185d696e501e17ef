package io.jrun.agent.guard;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Marks of the processes of a round. Each worker starts with the mark as its limit of real-time CPU time
 * (RLIMIT_RTTIME, in microseconds): thousands of years, which no program uses up. All descendants inherit the limit. A
 * process that leaves its group, its session, its parent and its environment keeps the limit, and a process without
 * privileges cannot raise the limit. Source: getrlimit(2). Immutable.
 */
final class ProcessMark {
    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final Pattern HARD_LIMIT = Pattern.compile("Max realtime timeout +\\S+ +(\\d+) ");

    /** The range of marks. The range is large enough that no two jobs of one machine get the same mark. */
    private static final long SPREAD = 1L << 61;

    /** The range of marks of a job inside another job, below the mark of the outer job. */
    private static final long NESTED_SPREAD = 1L << 40;

    private final long first;

    private ProcessMark(long first) {
        this.first = first;
    }

    /** Returns marks that this process may set as limits. */
    static ProcessMark ofThisProcess() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        long limit = hardLimit();
        return new ProcessMark(
                limit == Long.MAX_VALUE
                        ? limit - random.nextLong(SPREAD)
                        : limit - random.nextLong(Math.max(1, Math.min(NESTED_SPREAD, limit / 2))));
    }

    /** Returns the mark of a round. */
    long of(int round) {
        return first - round;
    }

    private static long hardLimit() {
        try {
            Matcher line = HARD_LIMIT.matcher(Files.readString(LIMITS));
            return line.find() ? Long.parseLong(line.group(1)) : Long.MAX_VALUE;
        } catch (IOException | NumberFormatException e) {
            return Long.MAX_VALUE; // unlimited, in the notation of this kernel
        }
    }
}
