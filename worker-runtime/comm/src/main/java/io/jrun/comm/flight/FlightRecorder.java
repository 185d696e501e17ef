package io.jrun.comm.flight;

import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.Fingerprint;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.WaitTimes;
import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.OperationState;
import io.jrun.comm.record.RankRanges;
import io.jrun.comm.timeline.Timeline;
import io.jrun.comm.timeline.TimelineEntry;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The last {@value #CAPACITY} operations of one rank, over all its groups. An operation costs a few plain writes into
 * preallocated memory, and one reading of the clock. Thread-safe: several threads may record operations of different
 * groups and queues at the same time, and {@link #snapshot} may run at any time.
 *
 * <p>An operation has a ticket, and the ticket chooses its entry of eleven words. The first word of the entry is the
 * ticket. A writer replaces the ticket by {@link #BEING_WRITTEN} first, so that no other thread writes or reads the
 * entry meanwhile. The recorder reuses an entry after it has reused all others. An operation that runs keeps its entry.
 */
public final class FlightRecorder {
    /**
     * The number of operations: the last twenty steps of a training with a hundred operations a step, in 176 KiB. A
     * power of two.
     */
    public static final int CAPACITY = 2048;

    /** Number of closed groups that the recorder keeps. */
    static final int MAX_CLOSED_GROUPS = 64;

    /** Stands for the ticket of an operation that has no entry. */
    public static final long NO_TICKET = 0;

    /**
     * The largest size in bytes of completed operations without a wait and without an end time. One more reading of the
     * clock would take a tenth of their time. The start of the group's next operation bounds the end.
     */
    private static final long SMALL_BYTES = 4096;

    /** Stands in place of the ticket while a thread writes the entry. */
    private static final long BEING_WRITTEN = -1;

    private static final int NO_RANK = -1;
    private static final int WORDS_PER_ENTRY = 11;
    private static final int TICKET = 0;
    private static final int SEQUENCE = 1;
    private static final int FINGERPRINT = 2;
    private static final int COUNT = 3;
    private static final int GROUP_AND_STATE = 4;
    private static final int QUEUED_NANOS = 5;
    private static final int STARTED_NANOS = 6;
    private static final int ENDED_NANOS = 7;

    /** Word of a message's label. In other entries the word is left from an earlier message. */
    private static final int LABEL = 8;

    /** Word of the rank that came last and of the wait for it, as {@link WaitTimes#settle} returns them. */
    private static final int LATE = 9;

    /** Word of the operation's entry in the timeline. */
    private static final int TIMELINE_ENTRY = 10;

    private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);
    private static final OperationState[] STATES = OperationState.values();
    private static final OpKind[] KINDS = OpKind.values();

    private final long[] words = new long[CAPACITY * WORDS_PER_ENTRY];
    private final AtomicLong tickets = new AtomicLong(NO_TICKET);
    private final ConcurrentSkipListMap<Integer, RecordedGroup> groups = new ConcurrentSkipListMap<>();
    private final ArrayDeque<RecordedGroup> closedGroups = new ArrayDeque<>();
    private int nextIndex;
    private volatile Timeline timeline = Timeline.NONE;
    private final int[] kindNames = new int[KINDS.length];

    /** Writes all later operations into {@code file} too. Groups of earlier calls have no name there. */
    @SuppressWarnings("EnumOrdinal") // Never leaves this class.
    public void writeTo(Timeline file) {
        for (OpKind kind : KINDS) {
            kindNames[kind.ordinal()] = file.name(kind.methodName());
        }
        timeline = file;
    }

    /** Adds a group. */
    public synchronized RecordedGroup group(String name, List<Integer> worldRanks) {
        RecordedGroup group =
                new RecordedGroup(nextIndex++, name, worldRanks, timeline.name(name + "|" + RankRanges.of(worldRanks)));
        groups.put(group.index(), group);
        return group;
    }

    /**
     * Records the close of a group. The recorder keeps the group until {@value #MAX_CLOSED_GROUPS} more groups are
     * closed.
     */
    public synchronized void closed(RecordedGroup group) {
        closedGroups.add(group);
        if (closedGroups.size() > MAX_CLOSED_GROUPS) {
            groups.remove(closedGroups.remove().index());
        }
    }

    /** Returns all groups that the recorder keeps, oldest first. */
    public List<RecordedGroup> groups() {
        return List.copyOf(groups.values());
    }

    /** Number of all operations so far. */
    public long total() {
        return tickets.get();
    }

    /** Whether an operation runs. */
    public boolean isInside() {
        for (int entry = 0; entry < words.length; entry += WORDS_PER_ENTRY) {
            if ((long) WORD.getAcquire(words, entry + TICKET) > NO_TICKET && state(entry) == OperationState.STARTED) {
                return true;
            }
        }
        return false;
    }

    /** Records an operation that waits in the queue of its group. Returns the ticket of the operation. */
    public long queued(RecordedGroup group, Call call) {
        return write(group, call, OperationState.QUEUED, call.startNanoTime(), 0);
    }

    /**
     * Records the start of an operation.
     *
     * @param ticket the ticket of the queued operation, or {@link #NO_TICKET}
     * @return the ticket of the operation from now on
     */
    public long started(RecordedGroup group, long ticket, Call call) {
        group.started(call);
        long now = call.startNanoTime();
        int entry = entry(ticket);
        if (ticket == NO_TICKET || !WORD.compareAndSet(words, entry + TICKET, ticket, BEING_WRITTEN)) {
            long written = write(group, call, OperationState.STARTED, now, now);
            beginEntry(written, group, call, now);
            return written;
        }
        WORD.setOpaque(words, entry + STARTED_NANOS, now);
        WORD.setOpaque(words, entry + GROUP_AND_STATE, groupAndState(group, OperationState.STARTED));
        WORD.setRelease(words, entry + TICKET, ticket);
        beginEntry(ticket, group, call, now);
        return ticket;
    }

    @SuppressWarnings("EnumOrdinal") // Never leaves this class.
    private void beginEntry(long ticket, RecordedGroup group, Call call, long now) {
        if (ticket == NO_TICKET) {
            return;
        }
        OpKind kind = call.kind();
        long timelineEntry = timeline.begin(
                kind.isMessage() ? TimelineEntry.Kind.MESSAGE : TimelineEntry.Kind.COLLECTIVE,
                kindNames[kind.ordinal()],
                group.timelineName(),
                call.sequence(),
                now,
                call.bytes(),
                kind.isMessage() && call.root() >= 0 ? group.worldRanks().get(call.root()) : NO_RANK,
                kind.isMessage() ? Envelope.tag(call.label()) : 0);
        WORD.setOpaque(words, entry(ticket) + TIMELINE_ENTRY, timelineEntry);
    }

    /** Whether a timeline keeps what {@link #ended} gets besides the operation. */
    public boolean hasTimeline() {
        return timeline.writes();
    }

    /**
     * Records the end of a started operation.
     *
     * @param algorithm name of the collective's algorithm; empty if it is not known
     */
    public void ended(RecordedGroup group, long ticket, Call call, boolean completed, String algorithm) {
        if (completed) {
            group.completed(call);
        }
        long late = call.kind().isMessage() ? WaitTimes.NO_WAIT : group.waits().settle(call.kind());
        if (ticket == NO_TICKET) {
            return;
        }
        int entry = entry(ticket);
        OperationState state = completed ? OperationState.COMPLETED : OperationState.FAILED;
        boolean isShort = completed && call.bytes() <= SMALL_BYTES && late == WaitTimes.NO_WAIT;
        long ended = isShort ? 0 : System.nanoTime();
        if (ended != 0) {
            WORD.setOpaque(words, entry + ENDED_NANOS, ended);
        }
        timeline.end(
                (long) WORD.getOpaque(words, entry + TIMELINE_ENTRY),
                completed,
                isShort ? (long) WORD.getOpaque(words, entry + STARTED_NANOS) : ended,
                algorithm.isEmpty() ? 0 : timeline.name(algorithm),
                WaitTimes.lateRank(late),
                WaitTimes.lateNanos(late));
        if (late != WaitTimes.NO_WAIT) {
            WORD.setOpaque(words, entry + LATE, late);
        }
        WORD.setRelease(words, entry + GROUP_AND_STATE, groupAndState(group, state));
    }

    /** Returns the operations in the order of their calls, without entries that a thread is writing. */
    public List<OperationRecord> snapshot() {
        record Numbered(long ticket, OperationRecord operation) {}
        long now = System.nanoTime();
        List<Numbered> found = new ArrayList<>();
        for (int entry = 0; entry < words.length; entry += WORDS_PER_ENTRY) {
            long ticket = (long) WORD.getAcquire(words, entry + TICKET);
            OperationRecord operation = ticket > NO_TICKET ? read(entry, now) : null;
            VarHandle.loadLoadFence();
            if (operation != null && ticket == (long) WORD.getOpaque(words, entry + TICKET)) {
                found.add(new Numbered(ticket, operation));
            }
        }
        found.sort((a, b) -> Long.compare(a.ticket(), b.ticket()));
        return found.stream().map(Numbered::operation).toList();
    }

    /** Returns the running operation with this ticket; null if the operation has ended. */
    public @Nullable OperationRecord running(long ticket) {
        int entry = entry(ticket);
        if (ticket == NO_TICKET || (long) WORD.getAcquire(words, entry + TICKET) != ticket) {
            return null;
        }
        OperationRecord operation = read(entry, System.nanoTime());
        VarHandle.loadLoadFence();
        boolean isIt = (long) WORD.getOpaque(words, entry + TICKET) == ticket;
        return isIt && operation != null && operation.state() == OperationState.STARTED ? operation : null;
    }

    /** Returns null if the recorder no longer keeps the group of the entry. */
    private @Nullable OperationRecord read(int entry, long now) {
        long groupAndState = (long) WORD.getAcquire(words, entry + GROUP_AND_STATE);
        RecordedGroup group = groups.get((int) (groupAndState >>> 8));
        if (group == null) {
            return null;
        }
        long sequence = (long) WORD.getOpaque(words, entry + SEQUENCE);
        long fingerprint = (long) WORD.getOpaque(words, entry + FINGERPRINT);
        long count = (long) WORD.getOpaque(words, entry + COUNT);
        long late = (long) WORD.getOpaque(words, entry + LATE);
        OpKind kind = Fingerprint.kind(fingerprint);
        Envelope envelope = kind.isMessage() ? envelope(entry, fingerprint, count) : null;
        return new OperationRecord(
                group.name(),
                sequence,
                kind.methodName(),
                Fingerprint.type(fingerprint).label(),
                count,
                envelope == null
                        ? Fingerprint.describe(sequence, fingerprint, count)
                        : Fingerprint.describe(sequence, fingerprint, envelope.amount(kind)),
                envelope == null ? NO_RANK : Fingerprint.root(fingerprint),
                envelope == null ? 0 : envelope.tag(),
                STATES[(int) (groupAndState & 0xff)],
                ago((long) WORD.getOpaque(words, entry + QUEUED_NANOS), now),
                ago((long) WORD.getOpaque(words, entry + STARTED_NANOS), now),
                ago((long) WORD.getOpaque(words, entry + ENDED_NANOS), now),
                WaitTimes.lateRank(late),
                WaitTimes.lateNanos(late));
    }

    private Envelope envelope(int entry, long fingerprint, long count) {
        return Envelope.of((long) WORD.getOpaque(words, entry + LABEL), Fingerprint.type(fingerprint), count);
    }

    private static long ago(long nanoTime, long now) {
        return nanoTime == 0 ? OperationRecord.NEVER : Math.max(now - nanoTime, 0);
    }

    private long write(RecordedGroup group, Call call, OperationState state, long queuedNanos, long startedNanos) {
        long ticket = claim();
        if (ticket == NO_TICKET) {
            return NO_TICKET;
        }
        int entry = entry(ticket);
        WORD.setOpaque(words, entry + SEQUENCE, call.sequence());
        WORD.setOpaque(words, entry + FINGERPRINT, Fingerprint.of(call));
        WORD.setOpaque(words, entry + COUNT, call.count());
        if (call.kind().isMessage()) {
            WORD.setOpaque(words, entry + LABEL, call.label());
        }
        WORD.setOpaque(words, entry + QUEUED_NANOS, queuedNanos);
        WORD.setOpaque(words, entry + STARTED_NANOS, startedNanos);
        WORD.setOpaque(words, entry + ENDED_NANOS, 0L);
        WORD.setOpaque(words, entry + LATE, WaitTimes.NO_WAIT);
        WORD.setOpaque(words, entry + GROUP_AND_STATE, groupAndState(group, state));
        WORD.setRelease(words, entry + TICKET, ticket);
        return ticket;
    }

    /**
     * Returns a ticket whose entry this thread may write, or {@link #NO_TICKET} if every entry has a running operation.
     */
    private long claim() {
        for (int attempt = 0; attempt < CAPACITY; attempt++) {
            long ticket = tickets.incrementAndGet();
            int entry = entry(ticket);
            long before = (long) WORD.getOpaque(words, entry + TICKET);
            if (before != BEING_WRITTEN
                    && state(entry) != OperationState.STARTED
                    && WORD.compareAndSet(words, entry + TICKET, before, BEING_WRITTEN)) {
                if (state(entry) != OperationState.STARTED) {
                    return ticket;
                }
                WORD.setRelease(words, entry + TICKET, before); // The operation of the entry has just started.
            }
        }
        return NO_TICKET;
    }

    private OperationState state(int entry) {
        return STATES[(int) ((long) WORD.getOpaque(words, entry + GROUP_AND_STATE) & 0xff)];
    }

    private static int entry(long ticket) {
        return ((int) ticket & CAPACITY - 1) * WORDS_PER_ENTRY;
    }

    @SuppressWarnings("EnumOrdinal") // Never leaves this class.
    private static long groupAndState(RecordedGroup group, OperationState state) {
        return (long) group.index() << 8 | state.ordinal();
    }
}
