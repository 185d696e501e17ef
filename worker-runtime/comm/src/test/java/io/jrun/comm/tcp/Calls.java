package io.jrun.comm.tcp;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import java.time.Duration;

/** Short ways to make calls. */
final class Calls {
    static final Duration TIMEOUT = Duration.ofSeconds(10);

    private Calls() {}

    static Call barrier(long sequence) {
        return of(sequence, OpKind.BARRIER, DataType.F32, 0, 0, MemorySegment.NULL, MemorySegment.NULL);
    }

    static Call allReduce(long sequence, MemorySegment buffer, DataType type, ReduceOp op) {
        long count = buffer.byteSize() / type.sizeBytes();
        return new Call(sequence, OpKind.ALL_REDUCE, type, op, count, 0, buffer, buffer, Deadline.after(TIMEOUT));
    }

    static Call message(OpKind kind, long sequence, MemorySegment buffer, int peer) {
        return of(sequence, kind, DataType.I32, buffer.byteSize() / Integer.BYTES, peer, buffer, buffer);
    }

    static Call of(
            long sequence,
            OpKind kind,
            DataType type,
            long count,
            int root,
            MemorySegment input,
            MemorySegment output) {
        return new Call(sequence, kind, type, ReduceOp.SUM, count, root, input, output, Deadline.after(TIMEOUT));
    }

    static Call withTimeout(Call call, Duration timeout) {
        return new Call(
                call.sequence(),
                call.kind(),
                call.type(),
                call.op(),
                call.count(),
                call.root(),
                call.input(),
                call.output(),
                Deadline.after(timeout));
    }
}
