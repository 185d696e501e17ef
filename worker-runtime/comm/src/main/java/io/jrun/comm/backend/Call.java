package io.jrun.comm.backend;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;

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
        Deadline deadline) {

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
        return describe(sequence, kind, type, op, count, root);
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
