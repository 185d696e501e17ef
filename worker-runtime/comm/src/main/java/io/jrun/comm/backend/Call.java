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
 * One operation with valid arguments: the buffers are large enough, writable if they are written, and overlap only as
 * the operation allows.
 *
 * <p>Buffers may be heap or native segments, may be larger than needed, and carry native byte order. In-place kinds
 * ({@code BROADCAST ALL_REDUCE REDUCE SEND RECV}) have {@code input == output}. A buffer that this rank does not need
 * (a gather's output away from the root) is {@link MemorySegment#NULL}.
 *
 * <p>A group has one instance for all its blocking collectives, so that these allocate nothing. The instance changes as
 * soon as the operation is over. A thread that reads a call later needs a {@link #copy}.
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
     * Makes a call.
     *
     * @param sequence value of {@link #sequence}; the other parameters likewise
     * @param whole the program's call of which this call is a part; messages name the program's call, and ranks compare
     *     it; null if this is the program's call
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

    /** Makes a program's call whose blocks, if it has any, all have {@code count} elements. */
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

    /** Makes a call for a later {@link #become}. */
    public static Call blank() {
        MemorySegment none = MemorySegment.NULL;
        return requested(OpKind.BARRIER, DataType.I64, ReduceOp.SUM, 0, 0, none, none, null, null);
    }

    /**
     * Makes a call with the arguments of a program. {@link #numbered} sets sequence and deadline when the call is
     * queued or run.
     */
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

    /**
     * Makes a requested call on several buffers of {@code counts} elements each. Calls on buffers of other sizes
     * differ.
     */
    public static Call coalesced(OpKind kind, DataType type, ReduceOp op, long total, List<Long> counts) {
        long checksum =
                Blocks.of(counts.stream().mapToLong(Long::longValue).toArray()).checksum();
        int root = (int) (checksum & Integer.MAX_VALUE);
        MemorySegment none = MemorySegment.NULL;
        return requested(kind, type, op, total, root, none, none, null, null);
    }

    /** Sets all values to the values of a program's next call. The time of the call begins now. */
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

    /**
     * Number of this operation among the group's collectives, from 0. For a message: among the messages of its
     * direction and peer.
     */
    public long sequence() {
        return sequence;
    }

    /** The kind of the operation. */
    public OpKind kind() {
        return kind;
    }

    /** The type of the elements. */
    public DataType type() {
        return type;
    }

    /** The reduction; SUM if the kind does not reduce. */
    public ReduceOp op() {
        return op;
    }

    /**
     * Number of elements: of the buffer for in-place kinds, of one rank's block for other kinds, of all blocks if the
     * blocks are uneven. 0 for an uneven ALL_TO_ALL, which every rank divides in its own way. Number of bytes for
     * ALLOCATE.
     */
    public long count() {
        return count;
    }

    /**
     * Group rank of the root, or of the peer of SEND and RECV; -1 for any source. If the kind has no root: a checksum
     * of the sizes of coalesced buffers, else 0.
     */
    public int root() {
        return root;
    }

    /** The memory that the operation reads. */
    public MemorySegment input() {
        return input;
    }

    /** The memory that the operation writes. */
    public MemorySegment output() {
        return output;
    }

    /** The deadline of the operation. */
    public Deadline deadline() {
        return new Deadline(endNanos, timeout);
    }

    /** Nanoseconds until the deadline, as {@link Deadline#remainingNanos}. */
    public long remainingNanos() {
        return endNanos - System.nanoTime();
    }

    /** The value of {@link System#nanoTime()} at which the operation's time began. */
    public long startNanoTime() {
        return endNanos - timeout.toNanos();
    }

    /** The longest time of the operation. */
    public Duration timeout() {
        return timeout;
    }

    /**
     * The blocks of the buffer that has one block for each rank (ALL_TO_ALL: of the input). Equal on all ranks except
     * for ALL_TO_ALL. Null if all blocks have {@link #count} elements.
     */
    public @Nullable Blocks uneven() {
        return uneven;
    }

    /** The blocks of the output of an uneven ALL_TO_ALL; null for other calls. */
    public @Nullable Blocks unevenIncoming() {
        return unevenIncoming;
    }

    /** The tag and object flag of a message, as {@link Envelope#label} encodes them; 0 for other calls. */
    public long label() {
        return label;
    }

    /** The program's call of which this call is a part; null if this is the program's call. */
    public @Nullable Call whole() {
        return whole;
    }

    /** Returns a copy of the current values. */
    public Call copy() {
        return with(sequence, type, input, output, deadline(), label, whole == null ? null : whole.copy());
    }

    /** Returns the requested call with its sequence and its deadline. */
    public Call numbered(long newSequence, Deadline newDeadline) {
        return with(newSequence, type, input, output, newDeadline, label, whole);
    }

    /** Returns the same call with another deadline. */
    public Call withDeadline(Deadline newDeadline) {
        return with(sequence, type, input, output, newDeadline, label, whole);
    }

    /** Returns the same call on other memory. */
    public Call withBuffers(MemorySegment newInput, MemorySegment newOutput) {
        return with(sequence, type, newInput, newOutput, deadline(), label, whole);
    }

    /** Returns the same call for elements of another type. */
    public Call withType(DataType newType) {
        return with(sequence, newType, input, output, deadline(), label, whole);
    }

    /** Returns the same message with another label. */
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

    /** Returns the program's call: this call, or the call of which this call is a part. */
    public Call asCalled() {
        return whole == null ? this : whole;
    }

    /** Whether this call is one of several parts of the program's call. */
    public boolean isPart() {
        return whole != null;
    }

    /**
     * Returns the call that ranks compare: the program's call; for messages the message itself, since a program's call
     * may have several.
     */
    public Call compared() {
        return kind.isMessage() ? this : asCalled();
    }

    /** Returns a part of this call that some of the ranks run among themselves, with the same type and deadline. */
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
     * Returns such a part with one block for each participating rank.
     *
     * @param blocks blocks of the buffer that has one block for each participating rank
     * @param incoming blocks of the output of an ALL_TO_ALL; else null
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

    /** Returns the call that receives the next message of {@code source} on behalf of a receive. */
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

    /** Returns the size of {@code count} elements in bytes. */
    public long bytes() {
        return bytes(kind, type, count);
    }

    /** Returns the size in bytes of a call whose fingerprint is known. */
    public static long bytes(OpKind kind, DataType type, long count) {
        return kind == OpKind.ALLOCATE ? count : count * type.sizeBytes();
    }

    /**
     * Returns the size in bytes for the choice of an algorithm, equal on all ranks: {@link #bytes}, or an average block
     * if uneven.
     */
    public long typicalBytes(int size) {
        return uneven == null ? bytes() : bytes() / size;
    }

    /**
     * Returns the blocks of the buffer that has one block for each of {@code size} ranks; of the input if both buffers
     * have blocks.
     */
    public Blocks blocks(int size) {
        return uneven != null ? uneven : kind.isInPlace() ? Blocks.NONE : Blocks.equal(count, size);
    }

    /** Returns the blocks of the output of an ALL_TO_ALL. */
    public Blocks incoming(int size) {
        return unevenIncoming != null ? unevenIncoming : blocks(size);
    }

    /**
     * Returns the failure of this call after {@code cause} was thrown: the cause itself if it is a CommException, else
     * a wrapper.
     */
    public CommException failure(Throwable cause) {
        return cause instanceof CommException known
                ? known
                : new CommException(ErrorCode.SYSTEM, describe() + " failed internally: " + cause, cause);
    }

    /** Describes this call for messages: {@code allReduce #12(f32, 100, SUM)}. */
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

    /** Describes a call whose fingerprint is known, such as a peer's call. */
    public static String describe(long sequence, OpKind kind, DataType type, ReduceOp op, long count, int root) {
        return describe(sequence, kind, type, op, Long.toString(count), root);
    }

    /**
     * Describes a call whose amount is not a plain count.
     *
     * @param amount text in the place of the count
     */
    public static String describe(long sequence, OpKind kind, DataType type, ReduceOp op, String amount, int root) {
        String name = kind.methodName() + " #" + sequence;
        if (kind == OpKind.BARRIER || kind == OpKind.ALLOCATE_SHARED) {
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
