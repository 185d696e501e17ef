package io.jrun.agent.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The CPU time and the memory of a process of this machine.
 *
 * @param cpuNanos CPU time of all its threads
 * @param residentBytes resident memory, shared memory included
 */
public record ProcessUsage(long cpuNanos, long residentBytes) {
    /** The kernel counts in ticks of 10 ms, whatever its own timer is. Source: proc(5), USER_HZ. */
    private static final long NANOS_PER_TICK = 10_000_000;

    /** Indexes of utime, stime and rss in /proc/PID/stat, counted from the third field. */
    private static final int USER_TICKS = 11;

    private static final int SYSTEM_TICKS = 12;
    private static final int RESIDENT_PAGES = 21;

    /** All of x86-64. */
    private static final long PAGE_BYTES = 4096;

    /** The use of a process; empty if there is no such process. */
    public static Optional<ProcessUsage> of(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
            return Optional.of(new ProcessUsage(
                    (Long.parseLong(fields[USER_TICKS]) + Long.parseLong(fields[SYSTEM_TICKS])) * NANOS_PER_TICK,
                    Long.parseLong(fields[RESIDENT_PAGES]) * PAGE_BYTES));
        } catch (IOException | NumberFormatException | IndexOutOfBoundsException e) {
            return Optional.empty(); // the process has ended, or this /proc has no such file
        }
    }
}
