package io.jrun.comm.backend;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * One operation, with arguments already checked: buffers are large enough, writable where they are written, and overlap
 * only where the operation allows it.
 *
 * <p>Buffers may be heap or native segments, may be larger than needed, and carry native byte order. In-place kinds
 * ({@code BROADCAST ALL_REDUCE REDUCE SEND RECV}) have {@code input == output}. A buffer that this rank does not need
 * (a gather's output away from the root) is {@link MemorySegment#NULL}.
 *
 * @param sequence number of this operation among the group's collectives, from 0; for SEND and RECV, among the messages of
 *     that direction between the two ranks
 * @param op the reduction; SUM where the kind does not reduce
 * @param count elements: of the buffer for in-place kinds, of one rank's block otherwise; bytes for ALLOCATE
 * @param root group rank of the root, or of the peer of SEND and RECV; 0 where the kind has none
 * @param whole the program's call that this one is a part of, which messages name and ranks compare; null if this is it
 */
public record Call(
        long sequence,
        OpKind kind,
        DataType type,
        ReduceOp op,
        long count,
        int root,
        MemorySegment input,
        MemorySegment output,
        Deadline deadline,
        @Nullable Call whole) {
    /** A call that a program makes. */
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
        this(sequence, kind, type, op, count, root, input, output, deadline, null);
    }

    /** The call as the program made it: this one, or the one that it is a part of. */
    public Call asCalled() {
        return whole == null ? this : whole;
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
                partSequence, partKind, type, partOp, partCount, partRoot, partInput, partOutput, deadline, asCalled());
    }

    /** Size of {@code count} elements in bytes. */
    public long bytes() {
        return bytes(kind, type, count);
    }

    /** The same for a call of which only the fingerprint is known. */
    public static long bytes(OpKind kind, DataType type, long count) {
        return kind == OpKind.ALLOCATE ? count : count * type.sizeBytes();
    }

    /** How messages name this call: {@code allReduce #12(f32, 100, SUM)}. */
    public String describe() {
        Call called = asCalled();
        return describe(called.sequence, called.kind, called.type, called.op, called.count, called.root);
    }

    /** The same text for a call of which only the fingerprint is known, as a peer's. */
    public static String describe(long sequence, OpKind kind, DataType type, ReduceOp op, long count, int root) {
        String name = kind.methodName() + " #" + sequence;
        if (kind == OpKind.BARRIER) {
            return name;
        }
        if (kind == OpKind.ALLOCATE) {
            return name + "(" + count + " bytes)";
        }
        String reduction = kind.reduces() ? ", " + op : "";
        String peer = kind == OpKind.SEND ? ", to " : kind == OpKind.RECV ? ", from " : ", root ";
        return name + "(" + type.label() + ", " + count + reduction + (kind.hasRoot() ? peer + root : "") + ")";
    }
}
