package io.jrun.comm.flight;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The dumps that this process may have to write. The set is shared by the process, because the end of the process
 * affects all its ranks. Thread-safe.
 */
public final class OpenDumps {
    /** The longest time for which a slow disk may delay the end of the process. */
    private static final Duration WRITE_TIMEOUT = Duration.ofSeconds(2);

    private static final Set<FlightDump> DUMPS = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(OpenDumps::finish, "flight-dumps"));
    }

    private OpenDumps() {}

    /** Adds a dump. If the process fails, the dump is written. */
    public static void add(FlightDump dump) {
        DUMPS.add(dump);
    }

    /**
     * Removes a dump after the end of its world, because another world may write the same file. Waits for a started
     * dump.
     */
    public static void remove(FlightDump dump) {
        boolean _ = dump.await(WRITE_TIMEOUT);
        DUMPS.remove(dump);
    }

    /** Starts writing all dumps after a failure of the process. Returns at once. */
    public static void begin(String reason) {
        DUMPS.forEach(dump -> dump.begin(reason));
    }

    /** Marks all worlds as closed after the return of main. The process may then end without a dump. */
    public static void worldsClosed() {
        DUMPS.forEach(FlightDump::worldClosed);
    }

    /** Waits at most two seconds for started dumps. For callers that end the process without shutdown hooks. */
    public static void await() {
        DUMPS.forEach(dump -> {
            boolean _ = dump.await(WRITE_TIMEOUT);
        });
    }

    private static void finish() {
        DUMPS.stream()
                .filter(FlightDump::isWorldOpen)
                .forEach(dump -> dump.begin("the process ended while its world was open: by a signal or System.exit"));
        await();
    }
}
