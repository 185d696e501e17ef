package io.jrun.comm.worker;

import io.jrun.comm.control.RuntimeThread;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/** Says, once, why a process goes on whose main has returned: threads of the program that nobody has ended. Stateless. */
final class LingeringThreads {
    /** A program that ends its threads by itself does so sooner. */
    private static final long PATIENCE_SECONDS = 10;

    /** The JVM's own, which waits for the others. */
    private static final String DESTROYER = "DestroyJavaVM";

    private LingeringThreads() {}

    /** Main has returned. The thread that is started here holds up nobody. */
    static void watch() {
        var _ = RuntimeThread.start("jrun-lingering", () -> {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
            for (long left = deadline - System.nanoTime(); left > 0; left = deadline - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            String threads = threads(Thread.getAllStackTraces());
            if (!threads.isEmpty()) {
                System.err.println("jrun: main returned " + PATIENCE_SECONDS + " s ago, and the process goes on for "
                        + threads + ". End them, or make them daemon threads");
            }
        });
    }

    /** Those that keep a process alive, each with the place where it is. */
    static String threads(Map<Thread, StackTraceElement[]> all) {
        return all.entrySet().stream()
                .filter(entry -> entry.getKey().isAlive()
                        && !entry.getKey().isDaemon()
                        && !entry.getKey().getName().equals(DESTROYER))
                .map(entry -> "thread '" + entry.getKey().getName() + "'" + place(entry.getValue()))
                .sorted()
                .collect(Collectors.joining(", "));
    }

    /** Where in the program it is; of a pool's thread that waits, nowhere. */
    private static String place(StackTraceElement[] stack) {
        return Arrays.stream(stack)
                .filter(frame -> frame.getModuleName() == null)
                .findFirst()
                .map(frame -> " at " + frame.toString().replaceFirst("^app//", ""))
                .orElse("");
    }
}
