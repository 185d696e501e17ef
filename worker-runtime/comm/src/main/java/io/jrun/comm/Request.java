package io.jrun.comm;

import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** An operation as its caller wants it, its arguments checked; its turn gives it a number and a deadline. As {@link Call}. */
record Request(
        OpKind kind,
        DataType type,
        ReduceOp op,
        long count,
        int root,
        MemorySegment input,
        MemorySegment output,
        @Nullable Blocks uneven,
        @Nullable Blocks unevenIncoming) {

    /** A request whose blocks, if it has any, are equal. */
    static Request of(
            OpKind kind, DataType type, ReduceOp op, long count, int root, MemorySegment input, MemorySegment output) {
        return new Request(kind, type, op, count, root, input, output, null, null);
    }

    /** A request that moves no data. */
    static Request of(OpKind kind, long count) {
        return of(kind, DataType.I64, ReduceOp.SUM, count, 0, MemorySegment.NULL, MemorySegment.NULL);
    }

    Call numbered(long sequence, Deadline deadline) {
        return new Call(sequence, kind, type, op, count, root, input, output, deadline, uneven, unevenIncoming);
    }
}
