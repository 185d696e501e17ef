package io.jrun.comm.operation;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An operation as its caller wants it, its arguments checked; its turn gives it a number and a deadline. As {@link Call}. */
public record OperationRequest(
        OpKind kind,
        DataType type,
        ReduceOp op,
        long count,
        int root,
        MemorySegment input,
        MemorySegment output,
        @Nullable Blocks uneven,
        @Nullable Blocks unevenIncoming,
        long label) {

    /** A request without a label. */
    public static OperationRequest of(
            OpKind kind,
            DataType type,
            ReduceOp op,
            long count,
            int root,
            MemorySegment input,
            MemorySegment output,
            @Nullable Blocks uneven,
            @Nullable Blocks unevenIncoming) {
        return new OperationRequest(kind, type, op, count, root, input, output, uneven, unevenIncoming, 0);
    }

    /** A request for buffers of {@code counts} elements each as one, which differs from one for others. */
    public static OperationRequest coalesced(OpKind kind, DataType type, ReduceOp op, long total, List<Long> counts) {
        long checksum =
                Blocks.of(counts.stream().mapToLong(Long::longValue).toArray()).checksum();
        int root = (int) (checksum & Integer.MAX_VALUE);
        return of(kind, type, op, total, root, MemorySegment.NULL, MemorySegment.NULL, null, null);
    }

    /** The same for elements of another type. */
    public OperationRequest withType(DataType newType) {
        return new OperationRequest(kind, newType, op, count, root, input, output, uneven, unevenIncoming, label);
    }

    /** The same message with a tag, or one that is an object. */
    public OperationRequest withLabel(long newLabel) {
        return new OperationRequest(kind, type, op, count, root, input, output, uneven, unevenIncoming, newLabel);
    }

    public Call numbered(long sequence, Deadline deadline) {
        return new Call(
                sequence, kind, type, op, count, root, input, output, deadline, uneven, unevenIncoming, label, null);
    }
}
