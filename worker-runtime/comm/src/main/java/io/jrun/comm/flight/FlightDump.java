package io.jrun.comm.flight;

import io.jrun.comm.control.RuntimeThread;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.OutputFile;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Writes the record of a rank into a file once, at the first failure. The file appears complete or not at all.
 * Thread-safe.
 *
 * <p>A separate thread writes the file. A slow disk therefore never delays the failing operation. A slow disk delays
 * the end of the process by at most the timeout of {@link #await}.
 */
public final class FlightDump {
    /** The file's name in the rank's log folder. */
    public static final String FILE_NAME = "flight.bin";

    private final RankRecords records;
    private final int rank;
    private final Path file;
    private final AtomicBoolean begun = new AtomicBoolean();
    private final CountDownLatch written = new CountDownLatch(1);
    private volatile boolean worldOpen = true;

    /**
     * Prepares a dump and writes nothing.
     *
     * @param folder the rank's log folder
     */
    public FlightDump(RankRecords records, int rank, Path folder) {
        this.records = records;
        this.rank = rank;
        this.file = folder.resolve(FILE_NAME);
    }

    /** Starts writing, unless an earlier call has started. Returns at once. */
    public void begin(String reason) {
        if (begun.compareAndSet(false, true)) {
            var _ = RuntimeThread.start("flight-dump", () -> write(reason));
        }
    }

    /** Marks the rank's world as closed by the program. The process may then end without a dump. */
    public void worldClosed() {
        worldOpen = false;
    }

    boolean isWorldOpen() {
        return worldOpen;
    }

    /** Waits until a dump that has begun is written. Returns false if that takes longer than {@code timeout}. */
    boolean await(Duration timeout) {
        try {
            return !begun.get() || written.await(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void write(String reason) {
        try {
            OutputFile.replace(file, records.all(reason).encoded());
        } catch (IOException e) {
            System.err.println("jrun: rank " + rank + ": cannot write the flight recorder's dump " + file + ": "
                    + FileError.reason(e, file));
        } finally {
            written.countDown();
        }
    }
}
