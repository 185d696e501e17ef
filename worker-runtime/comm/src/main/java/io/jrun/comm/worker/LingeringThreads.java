package io.jrun.comm.worker;

import io.jrun.comm.control.RuntimeThread;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/** Reports once why a process continues after the return of main: threads of the program still run. Stateless. */
final class LingeringThreads {
    /** The time before the report. A program that ends its threads by itself needs less time. */
    private static final long PATIENCE_SECONDS = 10;

    /** The JVM's own thread that waits for the other threads. */
    private static final String DESTROYER = "DestroyJavaVM";

    private LingeringThreads() {}

    /** Starts the watch after the return of main. Its thread does not delay the end of the process. */
    static void watch() {
        var _ = RuntimeThread.start("jrun-lingering", () -> {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
            for (long left = deadline - System.nanoTime(); left > 0; left = deadline - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            String threads = threads(Thread.getAllStackTraces());
            if (!threads.isEmpty()) {
                System.err.println(
                        "jrun: main returned " + PATIENCE_SECONDS + " s ago, but the process still runs because of "
                                + threads + ". End these threads, or make them daemon threads");
            }
        });
    }

    /** Describes the threads that keep a process alive, each with its location. */
    static String threads(Map<Thread, StackTraceElement[]> all) {
        return all.entrySet().stream()
                .filter(entry -> entry.getKey().isAlive()
                        && !entry.getKey().isDaemon()
                        && !entry.getKey().getName().equals(DESTROYER))
                .map(entry -> "thread '" + entry.getKey().getName() + "'" + place(entry.getValue()))
                .sorted()
                .collect(Collectors.joining(", "));
    }

    /** Describes the location of a thread in the program; empty for a waiting thread of a pool. */
    private static String place(StackTraceElement[] stack) {
        return Arrays.stream(stack)
                .filter(frame -> frame.getModuleName() == null)
                .findFirst()
                .map(frame -> " at " + frame.toString().replaceFirst("^app//", ""))
                .orElse("");
    }
}
