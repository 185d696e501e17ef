package io.jrun.comm.record;

import static io.jrun.comm.record.JsonText.quoted;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.jrun.comm.RankLag;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Fingerprint;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.control.RuntimeThread;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Writes what a rank's recorder holds into a file of JSON lines, once, when the first thing goes wrong: a line about the rank,
 * one for each group, one for each operation. docs/operations.md describes them. The file appears whole or not at all.
 * Thread-safe.
 *
 * <p>A thread of its own writes, so that a slow disk holds up neither the failing operation nor, beyond {@link #await}'s
 * timeout, the end of the process.
 */
public final class FlightDump {
    /** The file's name in the rank's log folder. */
    public static final String FILE_NAME = "flight.json";

    /** What readers compare before they read on. */
    private static final int FORMAT = 1;

    private static final int BYTES_PER_LINE = 256;

    private final FlightRecorder recorder;
    private final WorldContext world;
    private final Path file;
    private final long startMillis = System.currentTimeMillis();
    private final long startNanos = System.nanoTime();
    private final AtomicBoolean begun = new AtomicBoolean();
    private final CountDownLatch written = new CountDownLatch(1);
    private volatile boolean worldOpen = true;

    /**
     * Nothing is written yet. The moment of this call is the one to which the dump's times refer.
     *
     * @param folder the rank's log folder
     */
    public FlightDump(FlightRecorder recorder, WorldContext world, Path folder) {
        this.recorder = recorder;
        this.world = world;
        this.file = folder.resolve(FILE_NAME);
    }

    /** Begins to write, unless that has been done; returns at once. */
    public void begin(String reason) {
        if (begun.compareAndSet(false, true)) {
            var _ = RuntimeThread.start("flight-dump", () -> write(reason));
        }
    }

    /** The rank takes part in nothing any more, as intended: its process may end without a dump. */
    public void worldClosed() {
        worldOpen = false;
    }

    boolean isWorldOpen() {
        return worldOpen;
    }

    /** Waits until the dump is there, if one has begun; false if that takes longer. */
    boolean await(Duration timeout) {
        try {
            return !begun.get() || written.await(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void write(String reason) {
        Path partial = file.resolveSibling(FILE_NAME + ".partial");
        try {
            Files.writeString(partial, text(reason), UTF_8);
            Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            System.err.println("jrun: rank " + world.rank() + ": cannot write the flight recorder's dump " + file + ": "
                    + e + ". Its directory must be writable.");
        } finally {
            written.countDown();
        }
    }

    private String text(String reason) {
        var operations = recorder.snapshot();
        long now = System.nanoTime();
        StringBuilder text = new StringBuilder(BYTES_PER_LINE * (operations.size() + 2));
        header(text, reason, now, operations.size());
        recorder.groups().forEach(group -> group(text, group));
        Map<String, Long> nextStarts = new HashMap<>();
        Deque<StringBuilder> lines = new ArrayDeque<>();
        for (RecordedOperation operation : operations.reversed()) {
            if (operation.isMessage()) {
                lines.addFirst(operation(operation, now));
            } else {
                lines.addFirst(operation(operation, nextStarts.getOrDefault(operation.group(), now)));
                nextStarts.put(operation.group(), operation.startedNanos() == 0 ? now : operation.startedNanos());
            }
        }
        lines.forEach(text::append);
        return text.toString();
    }

    private void header(StringBuilder text, String reason, long now, int kept) {
        Peer self = world.peers().get(world.rank());
        text.append("{\"flightRecorder\":").append(FORMAT);
        text.append(",\"rank\":").append(world.rank());
        text.append(",\"worldSize\":").append(world.peers().size());
        text.append(",\"host\":").append(quoted(self.host()));
        text.append(",\"pid\":").append(self.pid());
        text.append(",\"runId\":").append(quoted(world.runId()));
        text.append(",\"round\":").append(world.round());
        text.append(",\"reason\":").append(quoted(reason));
        text.append(",\"startMillis\":").append(startMillis);
        text.append(",\"dumpNanos\":").append(now - startNanos);
        text.append(",\"operations\":").append(recorder.total());
        text.append(",\"kept\":").append(kept).append("}\n");
    }

    private static void group(StringBuilder text, RecordedGroup group) {
        text.append("{\"group\":").append(quoted(group.name()));
        text.append(",\"ranks\":").append(group.worldRanks());
        text.append(",\"started\":").append(group.startedCollectives());
        text.append(",\"completed\":").append(group.completedCollectives());
        text.append(",\"waitedNanos\":").append(group.waits().total().toNanos());
        text.append(",\"lags\":[");
        String separator = "";
        for (RankLag lag : group.waits().lags()) {
            text.append(separator).append("{\"rank\":").append(lag.rank());
            text.append(",\"count\":").append(lag.count());
            text.append(",\"totalNanos\":").append(lag.total().toNanos());
            text.append(",\"medianNanos\":").append(lag.median().toNanos());
            text.append(",\"p95Nanos\":").append(lag.p95().toNanos());
            text.append(",\"maxNanos\":").append(lag.max().toNanos()).append('}');
            separator = ",";
        }
        text.append("]}\n");
    }

    /** @param endedBefore by when it had ended, if it had: a group's collectives run one after another */
    private StringBuilder operation(RecordedOperation operation, long endedBefore) {
        StringBuilder text = new StringBuilder(BYTES_PER_LINE);
        long fingerprint = operation.fingerprint();
        OpKind kind = Fingerprint.kind(fingerprint);
        text.append("{\"group\":").append(quoted(operation.group()));
        text.append(",\"sequence\":").append(operation.sequence());
        text.append(",\"op\":\"").append(kind.methodName());
        text.append("\",\"type\":\"")
                .append(Fingerprint.type(fingerprint).label())
                .append('"');
        if (kind.reduces()) {
            text.append(",\"reduction\":\"").append(Fingerprint.op(fingerprint)).append('"');
        }
        if (kind.hasRoot()) {
            text.append(kind.isMessage() ? ",\"peer\":" : ",\"root\":").append(Fingerprint.root(fingerprint));
        }
        if (kind.isMessage()) {
            text.append(",\"tag\":").append(operation.envelope().tag());
        }
        text.append(",\"count\":").append(operation.count());
        text.append(",\"bytes\":").append(Call.bytes(kind, Fingerprint.type(fingerprint), operation.count()));
        text.append(",\"call\":").append(quoted(operation.describe()));
        text.append(",\"state\":\"").append(operation.state().label()).append('"');
        nanos(text, "queuedNanos", operation.queuedNanos());
        nanos(text, "startedNanos", operation.startedNanos());
        nanos(text, "endedNanos", operation.endedNanos());
        nanos(text, "endedBeforeNanos", operation.isUnclocked() ? endedBefore : 0);
        if (operation.lateRank() >= 0) {
            text.append(",\"lateRank\":").append(operation.lateRank());
            text.append(",\"lateNanos\":").append(operation.lateNanos());
        }
        return text.append("}\n");
    }

    private void nanos(StringBuilder text, String name, long nanoTime) {
        if (nanoTime != 0) {
            text.append(",\"").append(name).append("\":").append(nanoTime - startNanos);
        }
    }
}
