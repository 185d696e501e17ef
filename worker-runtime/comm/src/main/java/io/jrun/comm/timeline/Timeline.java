package io.jrun.comm.timeline;

import static io.jrun.comm.timeline.TimelineLayout.ATOMIC;
import static io.jrun.comm.timeline.TimelineLayout.BEING_WRITTEN;
import static io.jrun.comm.timeline.TimelineLayout.ENTRY_BYTES;
import static io.jrun.comm.timeline.TimelineLayout.INT;
import static io.jrun.comm.timeline.TimelineLayout.LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Writes the timeline of a rank into a mapped file: a ring of entries of 64 bytes. An entry costs a few writes into
 * memory, no system call and no object. The kernel brings the memory to the disk, also after a kill of the process.
 * Thread-safe.
 *
 * <p>An entry has a ticket, and the ticket chooses its place. A writer replaces the ticket first, so that no reader
 * takes a half-written entry, and no other thread writes the entry meanwhile.
 */
public final class Timeline {
    /** A timeline that keeps nothing. */
    public static final Timeline NONE = new Timeline(null, 0, 0, new MemorySegment[0], MemorySegment.NULL, _ -> {});

    /** Zeros are written in pieces of this size, so that no large buffer is kept. */
    private static final int ZEROS = 1 << 16;

    /** The timeline of this process: of its rank, in the round that began last. */
    private static volatile Timeline ofProcess = NONE;

    /** The spans of {@link #step}. */
    public static final String MODEL_STEP = "model step";

    /** {@link #begin} returns this if the timeline keeps nothing. */
    public static final long NO_ENTRY = 0;

    /** The last entries: about 100 steps with 160 entries each, in 1 MiB. */
    static final int RING = 1 << 14;

    /** Entries of a piece of a whole timeline: 4 MiB, which a disk takes in milliseconds. */
    private static final int PIECE = 1 << 16;

    /** The most pieces of a whole timeline: 256 MiB. Then the oldest entries are replaced. */
    private static final int MOST_PIECES = 64;

    private final @Nullable Path file;
    private final int piece;
    private final long capacity;
    private final MemorySegment header;
    private final Consumer<String> problems;
    private final AtomicLong tickets = new AtomicLong();
    private final AtomicLong modelSteps = new AtomicLong();
    private final Map<String, Integer> names = new ConcurrentHashMap<>();
    private volatile MemorySegment[] pieces;
    private volatile boolean writes;

    private Timeline(
            @Nullable Path file,
            int piece,
            long capacity,
            MemorySegment[] pieces,
            MemorySegment header,
            Consumer<String> problems) {
        this.file = file;
        this.piece = piece;
        this.capacity = capacity;
        this.pieces = pieces;
        this.header = header;
        this.problems = problems;
        this.writes = file != null;
    }

    /** The name of the file of a round in the rank's log folder. */
    public static String fileName(int round) {
        return "timeline-" + round + ".bin";
    }

    /**
     * The timeline of the rank that this process is, for spans of code that has no world; {@link #NONE} in a process
     * without a log folder, such as one whose ranks are threads.
     */
    public static Timeline ofProcess() {
        return ofProcess;
    }

    /** Sets the timeline that {@link #ofProcess} returns. */
    public static void useInProcess(Timeline timeline) {
        ofProcess = timeline;
    }

    /** Whether an entry is kept. */
    public boolean writes() {
        return writes;
    }

    /**
     * Begins a timeline.
     *
     * @param folder the rank's log folder
     * @param whole whether the timeline keeps all entries (up to 4,194,304), or only the last 16,384
     * @param problems receives one message if the file cannot be written; the timeline then keeps nothing
     */
    public static Timeline open(
            Path folder, int rank, int worldSize, int round, boolean whole, Consumer<String> problems) {
        Path file = folder.resolve(fileName(round));
        int piece = whole ? PIECE : RING;
        long capacity = whole ? (long) PIECE * MOST_PIECES : RING;
        try (FileChannel channel = FileChannel.open(
                file,
                Set.of(
                        StandardOpenOption.CREATE,
                        StandardOpenOption.TRUNCATE_EXISTING,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
            MemorySegment header = map(channel, 0, TimelineLayout.ENTRIES_AT);
            MemorySegment first = map(channel, TimelineLayout.ENTRIES_AT, (long) piece * ENTRY_BYTES);
            header.set(INT, TimelineLayout.VERSION_AT, TimelineLayout.VERSION);
            header.set(LONG, TimelineLayout.CAPACITY_AT, capacity);
            header.set(INT, TimelineLayout.RANK_AT, rank);
            header.set(INT, TimelineLayout.WORLD_SIZE_AT, worldSize);
            header.set(INT, TimelineLayout.ROUND_AT, round);
            header.set(LONG, TimelineLayout.PID_AT, ProcessHandle.current().pid());
            header.set(LONG, TimelineLayout.ANCHOR_NANOS_AT, System.nanoTime());
            header.set(LONG, TimelineLayout.ANCHOR_MILLIS_AT, System.currentTimeMillis());
            ATOMIC.setRelease(header, 0L, TimelineLayout.MAGIC);
            return new Timeline(file, piece, capacity, new MemorySegment[] {first}, header, problems);
        } catch (IOException e) {
            problems.accept("no timeline of this rank, because " + file + " cannot be written: " + e.getMessage());
            return NONE;
        }
    }

    /** Writes zeros first: a write into mapped memory without room on the disk would be a fault. */
    private static MemorySegment map(FileChannel channel, long offset, long bytes) throws IOException {
        ByteBuffer zeros = ByteBuffer.allocate(ZEROS);
        for (long written = 0; written < bytes; ) {
            zeros.clear().limit((int) Math.min(ZEROS, bytes - written));
            written += channel.write(zeros, offset + written);
        }
        return channel.map(FileChannel.MapMode.READ_WRITE, offset, bytes, Arena.ofAuto());
    }

    /** The number of a name in the file; 0 if the file has no room for a further name. */
    public int name(String text) {
        if (!writes) {
            return 0;
        }
        Integer known = names.get(text);
        return known == null ? newName(text) : known;
    }

    private synchronized int newName(String text) {
        Integer known = names.get(text);
        if (known != null) {
            return known;
        }
        int number = names.size() + 1;
        if (number >= TimelineLayout.NAMES) {
            return 0;
        }
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(utf8.length, TimelineLayout.NAME_BYTES - TimelineLayout.LENGTH_BYTES);
        long at = TimelineLayout.HEADER_BYTES + (long) number * TimelineLayout.NAME_BYTES;
        MemorySegment.copy(utf8, 0, header, ValueLayout.JAVA_BYTE, at + TimelineLayout.LENGTH_BYTES, length);
        VarHandle.releaseFence();
        header.set(INT, at, length);
        names.put(text, number);
        return number;
    }

    /** Adds a span that has ended. Times are of {@link System#nanoTime}. */
    public void span(String name, long step, long beginNanos, long endNanos, long bytes) {
        if (writes) {
            long _ = add(
                    TimelineEntry.Kind.SPAN,
                    TimelineEntry.State.COMPLETED,
                    name(name),
                    0,
                    step,
                    beginNanos,
                    endNanos,
                    bytes,
                    0,
                    0);
        }
    }

    /**
     * Adds a step of a model, numbered from 0. A reader takes these steps for those of the training if the program has
     * added no spans of the name {@code step}.
     */
    public void step(long beginNanos, long endNanos) {
        if (writes) {
            span(MODEL_STEP, modelSteps.getAndIncrement(), beginNanos, endNanos, 0);
        }
    }

    /**
     * Adds an operation that begins.
     *
     * @param name number of the method's name
     * @param group number of the group's name
     * @param peer world rank at the other end of a message; -1 for a collective
     * @param tag tag of a message; 0 for a collective
     * @return the entry for {@link #end}
     */
    public long begin(
            TimelineEntry.Kind kind,
            int name,
            int group,
            long sequence,
            long beginNanos,
            long bytes,
            int peer,
            int tag) {
        return writes
                ? add(
                        kind,
                        TimelineEntry.State.RUNNING,
                        name,
                        group,
                        sequence,
                        beginNanos,
                        0,
                        bytes,
                        (peer + 1L) << 32,
                        tag)
                : NO_ENTRY;
    }

    /**
     * Ends an operation. Without effect if a later entry has replaced the operation.
     *
     * @param algorithm number of the name of the collective's algorithm, 0 if the algorithm is not known
     * @param lateRank the world rank for which this rank has waited, -1 without a wait
     */
    public void end(long entry, boolean completed, long endNanos, int algorithm, int lateRank, long lateNanos) {
        MemorySegment memory = entry == NO_ENTRY || !writes ? null : memory(entry);
        if (memory == null) {
            return;
        }
        long at = offset(entry);
        if (ATOMIC.compareAndSet(memory, at, entry, BEING_WRITTEN)) {
            long words = memory.get(LONG, at + TimelineLayout.WORDS);
            TimelineEntry.State state = completed ? TimelineEntry.State.COMPLETED : TimelineEntry.State.FAILED;
            memory.set(
                    LONG,
                    at + TimelineLayout.WORDS,
                    (words & ~0xff00L) | (state.code() << 8) | ((long) algorithm << 48));
            memory.set(LONG, at + TimelineLayout.END, endNanos);
            if (lateRank >= 0) {
                long ranks = memory.get(LONG, at + TimelineLayout.RANKS);
                memory.set(LONG, at + TimelineLayout.RANKS, ranks | (lateRank + 1L));
                memory.set(LONG, at + TimelineLayout.LATE_NANOS, lateNanos);
            }
            ATOMIC.setRelease(memory, at, entry);
        }
    }

    private long add(
            TimelineEntry.Kind kind,
            TimelineEntry.State state,
            int name,
            int group,
            long number,
            long beginNanos,
            long endNanos,
            long bytes,
            long ranks,
            long tag) {
        long entry = tickets.incrementAndGet();
        MemorySegment memory = memory(entry);
        if (memory == null) {
            return NO_ENTRY;
        }
        long at = offset(entry);
        long before = (long) ATOMIC.getOpaque(memory, at);
        if (before == BEING_WRITTEN || before > entry || !ATOMIC.compareAndSet(memory, at, before, BEING_WRITTEN)) {
            return NO_ENTRY; // A thread has paused while the others have filled the whole ring.
        }
        memory.set(LONG, at + TimelineLayout.BEGIN, beginNanos);
        memory.set(LONG, at + TimelineLayout.END, endNanos);
        memory.set(
                LONG,
                at + TimelineLayout.WORDS,
                kind.code() | (state.code() << 8) | ((long) name << 16) | ((long) group << 32));
        memory.set(LONG, at + TimelineLayout.NUMBER, number);
        memory.set(LONG, at + TimelineLayout.BYTES, bytes);
        memory.set(LONG, at + TimelineLayout.RANKS, ranks);
        memory.set(LONG, at + TimelineLayout.LATE_NANOS, tag);
        ATOMIC.setRelease(memory, at, entry);
        return entry;
    }

    private long offset(long entry) {
        return (entry - 1) % capacity % piece * ENTRY_BYTES;
    }

    private @Nullable MemorySegment memory(long entry) {
        int index = (int) ((entry - 1) % capacity / piece);
        MemorySegment[] known = pieces;
        return index < known.length ? known[index] : grown(index);
    }

    private synchronized @Nullable MemorySegment grown(int index) {
        Path path = file;
        if (index < pieces.length) {
            return pieces[index];
        }
        if (!writes || path == null) {
            return null;
        }
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MemorySegment[] more = Arrays.copyOf(pieces, index + 1);
            for (int next = pieces.length; next <= index; next++) {
                long bytes = (long) piece * ENTRY_BYTES;
                more[next] = map(channel, TimelineLayout.ENTRIES_AT + next * bytes, bytes);
            }
            pieces = more;
            return more[index];
        } catch (IOException e) {
            writes = false;
            problems.accept(
                    "the timeline of this rank ends here, because " + path + " cannot be written: " + e.getMessage());
            return null;
        }
    }
}
