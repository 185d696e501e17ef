package io.jrun.tokenizers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Ends this process when a request takes more CPU time or memory than its limits, or when the parent process is gone.
 * A thread reads the usage from the kernel, because native code cannot be interrupted. CPU time, unlike elapsed time,
 * does not grow on a machine with other work.
 */
final class UsageLimit {
    /** Exit codes of this process. */
    static final int OUT_OF_TIME = 91;

    static final int OUT_OF_MEMORY = 92;
    static final int PARENT_GONE = 93;

    private static final Path USAGE = Path.of("/proc/self/stat");
    /** Short, so that native code does not take much memory between two looks. */
    private static final long INTERVAL_MILLIS = 20;

    private static final long MILLIS_PER_TICK = 10; // the kernel's USER_HZ is 100
    private static final long PAGES_PER_MIB = 256;

    /** The fields of {@link #USAGE} behind the name of the program, from 0. Source: proc_pid_stat(5). */
    private static final int PARENT = 1;

    private static final int USER_TICKS = 11;
    private static final int SYSTEM_TICKS = 12;
    private static final int RESIDENT_PAGES = 21;

    private final long parent;
    private boolean isBusy;
    private long maxMillis;
    private long maxMiB;

    private record Usage(long parent, long millis, long mebibytes) {
        static Usage read() {
            try {
                String line = Files.readString(USAGE);
                String[] fields = line.substring(line.lastIndexOf(')') + 2).split(" ", -1);
                return new Usage(
                        Long.parseLong(fields[PARENT]),
                        (Long.parseLong(fields[USER_TICKS]) + Long.parseLong(fields[SYSTEM_TICKS])) * MILLIS_PER_TICK,
                        Long.parseLong(fields[RESIDENT_PAGES]) / PAGES_PER_MIB);
            } catch (IOException e) {
                throw new IllegalStateException("cannot read " + USAGE + ": " + e, e);
            }
        }
    }

    private UsageLimit() {
        parent = Usage.read().parent();
    }

    static UsageLimit start() {
        UsageLimit limit = new UsageLimit();
        Thread.ofPlatform().daemon().name("usage-limit").start(limit::run);
        return limit;
    }

    /** A request begins. The limits are for what the request adds to the present usage. */
    synchronized void begin(long cpuMillis, long memoryMiB) {
        Usage usage = Usage.read();
        maxMillis = usage.millis() + cpuMillis;
        maxMiB = usage.mebibytes() + memoryMiB;
        isBusy = true;
        notifyAll();
    }

    /** The request ends. */
    synchronized void end() {
        isBusy = false;
    }

    private synchronized void run() {
        try {
            while (true) {
                while (!isBusy) {
                    wait();
                }
                Usage usage = Usage.read();
                if (usage.parent() != parent) {
                    Runtime.getRuntime().halt(PARENT_GONE);
                }
                if (usage.millis() > maxMillis) {
                    Runtime.getRuntime().halt(OUT_OF_TIME);
                }
                if (usage.mebibytes() > maxMiB) {
                    Runtime.getRuntime().halt(OUT_OF_MEMORY);
                }
                wait(INTERVAL_MILLIS);
            }
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }
}
