package io.jrun.agent;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Questions to the operating system, and waiting for an answer. */
public final class Processes {
    private static final long DEADLINE_SECONDS = 30;
    private static final long POLL_NANOS = Duration.ofMillis(10).toNanos();

    private Processes() {}

    /** A fact that may become true. */
    public interface Condition {
        /** Whether it is true now. */
        boolean holds() throws IOException;
    }

    /** Waits for something only polling can see. */
    public static void await(Condition condition) throws IOException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SECONDS);
        while (!condition.holds()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("not within " + DEADLINE_SECONDS + " s");
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    /** Whether a process runs; a zombie does not. */
    public static boolean isAlive(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc/" + pid + "/stat"), StandardCharsets.ISO_8859_1);
            return stat.charAt(stat.lastIndexOf(')') + 2) != 'Z';
        } catch (IOException e) {
            return false;
        }
    }

    /** A number that a test program wrote into a file. */
    public static long readPid(Path file) throws IOException {
        await(() -> Files.exists(file) && Files.readString(file).endsWith("\n"));
        return Long.parseLong(Files.readString(file).strip());
    }
}
