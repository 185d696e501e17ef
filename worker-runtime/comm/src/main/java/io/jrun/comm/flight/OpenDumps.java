package io.jrun.comm.flight;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The dumps that this process may have to write. The set belongs to the process, since the end of the process affects all ranks
 * in it. Thread-safe.
 */
public final class OpenDumps {
    /** The longest time for which a slow disk may delay the end of the process. */
    private static final Duration WRITE_TIMEOUT = Duration.ofSeconds(2);

    private static final Set<FlightDump> DUMPS = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(OpenDumps::finish, "flight-dumps"));
    }

    private OpenDumps() {}

    /** Adds a dump, to be written when the process fails. */
    public static void add(FlightDump dump) {
        DUMPS.add(dump);
    }

    /** Removes a dump after the end of its world, since another world may write the same file. Waits for a dump that has begun. */
    public static void remove(FlightDump dump) {
        boolean _ = dump.await(WRITE_TIMEOUT);
        DUMPS.remove(dump);
    }

    /** Begins to write all dumps, since the process fails. Returns at once. */
    public static void begin(String reason) {
        DUMPS.forEach(dump -> dump.begin(reason));
    }

    /** Main has returned. The process may end without a dump. */
    public static void worldsClosed() {
        DUMPS.forEach(FlightDump::worldClosed);
    }

    /** Waits for the dumps that have begun, two seconds at most. For callers that end the process without shutdown hooks. */
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
