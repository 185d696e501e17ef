package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One operation, with arguments already checked: buffers are large enough, writable where they are written, and overlap
 * only where the operation allows it.
 *
 * <p>Buffers may be heap or native segments, may be larger than needed, and carry native byte order. In-place kinds
 * ({@code BROADCAST ALL_REDUCE REDUCE SEND RECV}) have {@code input == output}. A buffer that this rank does not need
 * (a gather's output away from the root) is {@link MemorySegment#NULL}.
 *
 * <p>A group has one for all its synchronous collectives, so that they leave nothing to the garbage collector: it says
 * something else as soon as the operation is over. Who looks at one later looks at a {@link #copy}.
 */
public final class Call {
    private long sequence;
    private OpKind kind;
    private DataType type;
    private ReduceOp op;
    private long count;
    private int root;
    private MemorySegment input;
    private MemorySegment output;
    private long endNanos;
    private Duration timeout;
    private @Nullable Blocks uneven;
    private @Nullable Blocks unevenIncoming;
    private final long label;
    private final @Nullable Call whole;

    /**
     * A call.
     *
     * @param sequence see {@link #sequence}, and so on
     * @param whole the program's call that this one is a part of, which messages name and ranks compare; null if this is it
     */
    public Call(
            long sequence,
            OpKind kind,
            DataType type,
            ReduceOp op,
            long count,
            int root,
            MemorySegment input,
            MemorySegment output,
            Deadline deadline,
            @Nullable Blocks uneven,
            @Nullable Blocks unevenIncoming,
            long label,
            @Nullable Call whole) {
        this.sequence = sequence;
        this.kind = kind;
        this.type = type;
        this.op = op;
        this.count = count;
        this.root = root;
        this.input = input;
        this.output = output;
        this.endNanos = deadline.nanoTime();
        this.timeout = deadline.timeout();
        this.uneven = uneven;
        this.unevenIncoming = unevenIncoming;
        this.label = label;
        this.whole = whole;
    }

    /** A call that a program makes, whose blocks, if it has any, are all of {@code count} elements. */
    public Call(
            long sequence,
            OpKind kind,
            DataType type,
            ReduceOp op,
            long count,
            int root,
            MemorySegment input,
            MemorySegment output,
            Deadline deadline) {
        this(sequence, kind, type, op, count, root, input, output, deadline, null, null, 0, null);
    }

    /** A call that is yet to {@link #become} one. */
    public static Call blank() {
        MemorySegment none = MemorySegment.NULL;
        return requested(OpKind.BARRIER, DataType.I64, ReduceOp.SUM, 0, 0, none, none, null, null);
    }

    /** A call as a program asks for it: {@link #numbered} gives it a number and a deadline when it is queued or run. */
    public static Call requested(
            OpKind kind,
            DataType type,
            ReduceOp op,
            long count,
            int root,
            MemorySegment input,
            MemorySegment output,
            @Nullable Blocks uneven,
            @Nullable Blocks unevenIncoming) {
        Deadline none = new Deadline(0, Duration.ZERO);
        return new Call(0, kind, type, op, count, root, input, output, none, uneven, unevenIncoming, 0, null);
    }

    /** A requested call on buffers of {@code counts} elements each as one, which differs from a call on other buffers. */
    public static Call coalesced(OpKind kind, DataType type, ReduceOp op, long total, List<Long> counts) {
        long checksum =
                Blocks.of(counts.stream().mapToLong(Long::longValue).toArray()).checksum();
        int root = (int) (checksum & Integer.MAX_VALUE);
        MemorySegment none = MemorySegment.NULL;
        return requested(kind, type, op, total, root, none, none, null, null);
    }

    /** From now on this is a program's next call, whose time begins now. */
    public void become(
            long newSequence,
            OpKind newKind,
            DataType newType,
            ReduceOp newOp,
            long newCount,
            int newRoot,
            MemorySegment newInput,
            MemorySegment newOutput,
            Duration newTimeout,
            @Nullable Blocks newUneven,
            @Nullable Blocks newUnevenIncoming) {
        sequence = newSequence;
        kind = newKind;
        type = newType;
        op = newOp;
        count = newCount;
        root = newRoot;
        input = newInput;
        output = newOutput;
        endNanos = System.nanoTime() + newTimeout.toNanos();
        timeout = newTimeout;
        uneven = newUneven;
        unevenIncoming = newUnevenIncoming;
    }

    /** Number of this operation among the group's collectives, from 0; of a message, among those of its direction and peer. */
    public long sequence() {
        return sequence;
    }

    /** Which operation. */
    public OpKind kind() {
        return kind;
    }

    /** Of the elements. */
    public DataType type() {
        return type;
    }

    /** The reduction; SUM where the kind does not reduce. */
    public ReduceOp op() {
        return op;
    }

    /**
     * Elements: of the buffer for in-place kinds, of one rank's block otherwise; of all blocks where those are uneven, and 0
     * for an uneven ALL_TO_ALL, which every rank divides in its own way; bytes for ALLOCATE.
     */
    public long count() {
        return count;
    }

    /**
     * Group rank of the root, or of the peer of SEND and RECV, -1 for any; where the kind has none, a checksum of the sizes of
     * the buffers that were coalesced to one, else 0.
     */
    public int root() {
        return root;
    }

    /** What is read. */
    public MemorySegment input() {
        return input;
    }

    /** What is written. */
    public MemorySegment output() {
        return output;
    }

    /** When it fails if it has not ended. */
    public Deadline deadline() {
        return new Deadline(endNanos, timeout);
    }

    /** As {@link Deadline#remainingNanos}. */
    public long remainingNanos() {
        return endNanos - System.nanoTime();
    }

    /** The value of {@link System#nanoTime()} at which its time began. */
    public long startNanoTime() {
        return endNanos - timeout.toNanos();
    }

    /** How long it may take. */
    public Duration timeout() {
        return timeout;
    }

    /**
     * The blocks of the buffer that has one for each rank (ALL_TO_ALL: of the input), alike on all ranks but for ALL_TO_ALL;
     * null: all of {@link #count} elements.
     */
    public @Nullable Blocks uneven() {
        return uneven;
    }

    /** Of an uneven ALL_TO_ALL, the blocks of the output; else null. */
    public @Nullable Blocks unevenIncoming() {
        return unevenIncoming;
    }

    /** Of a message what it is besides type and count, as {@link Envelope#label} has it; else 0. */
    public long label() {
        return label;
    }

    /** The program's call that this one is a part of; null if this is it. */
    public @Nullable Call whole() {
        return whole;
    }

    /** This call as it is now. */
    public Call copy() {
        return with(sequence, type, input, output, deadline(), label, whole == null ? null : whole.copy());
    }

    /** The requested call with its number and its deadline. */
    public Call numbered(long newSequence, Deadline newDeadline) {
        return with(newSequence, type, input, output, newDeadline, label, whole);
    }

    /** The same with another deadline. */
    public Call withDeadline(Deadline newDeadline) {
        return with(sequence, type, input, output, newDeadline, label, whole);
    }

    /** The same on other memory. */
    public Call withBuffers(MemorySegment newInput, MemorySegment newOutput) {
        return with(sequence, type, newInput, newOutput, deadline(), label, whole);
    }

    /** The same for elements of another type. */
    public Call withType(DataType newType) {
        return with(sequence, newType, input, output, deadline(), label, whole);
    }

    /** The same message with a tag, or one that is an object. */
    public Call withLabel(long newLabel) {
        return with(sequence, type, input, output, deadline(), newLabel, whole);
    }

    private Call with(
            long newSequence,
            DataType newType,
            MemorySegment newInput,
            MemorySegment newOutput,
            Deadline newDeadline,
            long newLabel,
            @Nullable Call newWhole) {
        return new Call(
                newSequence,
                kind,
                newType,
                op,
                count,
                root,
                newInput,
                newOutput,
                newDeadline,
                uneven,
                unevenIncoming,
                newLabel,
                newWhole);
    }

    /** The call as the program made it: this one, or the one that it is a part of. */
    public Call asCalled() {
        return whole == null ? this : whole;
    }

    /** Whether the program's call has others like this. */
    public boolean isPart() {
        return whole != null;
    }

    /** What ranks compare: the program's call; of messages, of which the program's may take several, the message itself. */
    public Call compared() {
        return kind.isMessage() ? this : asCalled();
    }

    /** A step of this call that some of the ranks take among themselves; of the same type, with the same deadline. */
    public Call part(
            long partSequence,
            OpKind partKind,
            ReduceOp partOp,
            long partCount,
            int partRoot,
            MemorySegment partInput,
            MemorySegment partOutput) {
        return new Call(
                partSequence,
                partKind,
                type,
                partOp,
                partCount,
                partRoot,
                partInput,
                partOutput,
                deadline(),
                null,
                null,
                label,
                asCalled());
    }

    /**
     * Such a step for which each of the ranks that take it has a block.
     *
     * @param blocks of the buffer that has one for each of them
     * @param incoming of an ALL_TO_ALL, the blocks of the output; else null
     */
    public Call part(
            long partSequence,
            OpKind partKind,
            ReduceOp partOp,
            int partRoot,
            MemorySegment partInput,
            MemorySegment partOutput,
            Blocks blocks,
            @Nullable Blocks incoming) {
        boolean isEven = incoming == null && blocks.areEqual();
        return new Call(
                partSequence,
                partKind,
                type,
                partOp,
                incoming != null ? 0 : isEven ? blocks.count(0) : blocks.total(),
                partRoot,
                partInput,
                partOutput,
                deadline(),
                isEven ? null : blocks,
                incoming,
                label,
                asCalled());
    }

    /** Of a receive that waits for {@code source}: the call that receives its next message. */
    public Call receiving(long messageSequence, int source, Envelope envelope, MemorySegment memory) {
        return new Call(
                messageSequence,
                OpKind.RECV,
                envelope.type(),
                ReduceOp.SUM,
                envelope.count(),
                source,
                memory,
                memory,
                deadline(),
                null,
                null,
                envelope.label(),
                asCalled());
    }

    /** Size of {@code count} elements in bytes. */
    public long bytes() {
        return bytes(kind, type, count);
    }

    /** The same for a call of which only the fingerprint is known. */
    public static long bytes(OpKind kind, DataType type, long count) {
        return kind == OpKind.ALLOCATE ? count : count * type.sizeBytes();
    }

    /** Bytes by which algorithms are chosen, alike on all ranks: as {@link #bytes}, and of an average block if uneven. */
    public long typicalBytes(int size) {
        return uneven == null ? bytes() : bytes() / size;
    }

    /** The blocks of the buffer that has one for each of {@code size} ranks, if one has; of the input where both have. */
    public Blocks blocks(int size) {
        return uneven != null ? uneven : kind.isInPlace() ? Blocks.NONE : Blocks.equal(count, size);
    }

    /** The blocks of the output of an ALL_TO_ALL. */
    public Blocks incoming(int size) {
        return unevenIncoming != null ? unevenIncoming : blocks(size);
    }

    /** What fails this call when {@code cause} was thrown while it ran: that itself if it says so, else what wraps it. */
    public CommException failure(Throwable cause) {
        return cause instanceof CommException told
                ? told
                : new CommException(ErrorCode.SYSTEM, describe() + " failed in itself: " + cause, cause);
    }

    /** How messages name this call: {@code allReduce #12(f32, 100, SUM)}. */
    public String describe() {
        Call called = asCalled();
        if (called.kind.isMessage()) {
            String message =
                    Envelope.of(called.label, called.type, called.count).amount(called.kind);
            return describe(called.sequence, called.kind, called.type, called.op, message, called.root);
        }
        if (called.uneven == null) {
            return describe(called.sequence, called.kind, called.type, called.op, called.count, called.root);
        }
        String amount = called.unevenIncoming == null
                ? "blocks " + called.uneven.describe()
                : "blocks out " + called.uneven.describe() + ", in " + called.unevenIncoming.describe();
        return describe(called.sequence, called.kind, called.type, called.op, amount, called.root);
    }

    /** The same text for a call of which only the fingerprint is known, as a peer's. */
    public static String describe(long sequence, OpKind kind, DataType type, ReduceOp op, long count, int root) {
        return describe(sequence, kind, type, op, Long.toString(count), root);
    }

    /**
     * The same where more, or less, is known than a count.
     *
     * @param amount what takes the place of the count
     */
    public static String describe(long sequence, OpKind kind, DataType type, ReduceOp op, String amount, int root) {
        String name = kind.methodName() + " #" + sequence;
        if (kind == OpKind.BARRIER) {
            return name;
        }
        if (kind == OpKind.ALLOCATE) {
            return name + "(" + amount + " bytes)";
        }
        String reduction = kind.reduces() ? ", " + op : "";
        String peer = kind == OpKind.SEND ? ", to " : kind == OpKind.RECV ? ", from " : ", root ";
        String which = kind.hasRoot()
                ? peer + (root < 0 ? "any" : root)
                : root == 0 ? "" : ", coalesced " + Integer.toHexString(root);
        return name + "(" + type.label() + ", " + amount + reduction + which + ")";
    }
}
