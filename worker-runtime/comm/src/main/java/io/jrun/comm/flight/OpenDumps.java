package io.jrun.comm.flight;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The dumps that this process may have to write: they belong to the process rather than to a rank, since it is the process
 * that fails or ends. Thread-safe.
 */
public final class OpenDumps {
    /** How long a slow disk may hold up the end of a process. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private static final Set<FlightDump> DUMPS = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(OpenDumps::finish, "flight-dumps"));
    }

    private OpenDumps() {}

    /** Takes charge of a dump for the rest of the process's life. */
    public static void add(FlightDump dump) {
        DUMPS.add(dump);
    }

    /** Gives up a dump once it is written, if it has begun: its world is closed, and another may write the same file. */
    public static void remove(FlightDump dump) {
        boolean _ = dump.await(PATIENCE);
        DUMPS.remove(dump);
    }

    /** The process fails: everything is dumped. Returns at once. */
    public static void begin(String reason) {
        DUMPS.forEach(dump -> dump.begin(reason));
    }

    /** Main has returned: the process may end without a dump. */
    public static void worldsClosed() {
        DUMPS.forEach(FlightDump::worldClosed);
    }

    /** For those who end the process without shutdown hooks: waits for the dumps that have begun, two seconds at most. */
    public static void await() {
        DUMPS.forEach(dump -> {
            boolean _ = dump.await(PATIENCE);
        });
    }

    private static void finish() {
        DUMPS.stream()
                .filter(FlightDump::isWorldOpen)
                .forEach(dump -> dump.begin("the process ended while its world was open: by a signal or System.exit"));
        await();
    }
}
