package io.jrun.bench;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** jrun's own all-reduce. */
final class JrunPeer implements Peer {
    private final ProcessGroup group;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment buffer;

    JrunPeer(ProcessGroup group, Memory memory, long maxCount) {
        this.group = group;
        this.buffer = switch (memory) {
            case registered -> group.allocate(maxCount * Float.BYTES);
            case direct -> arena.allocate(maxCount * Float.BYTES, 64);
            case heap -> MemorySegment.ofArray(new float[Math.toIntExact(maxCount)]);
        };
    }

    @Override
    public String name() {
        return "jrun";
    }

    @Override
    public MemorySegment buffer(long count) {
        return buffer.asSlice(0, count * Float.BYTES);
    }

    @Override
    public void allReduceSum(long count) {
        group.allReduce(buffer, DataType.F32, count, ReduceOp.SUM);
    }

    @Override
    public void close() {
        arena.close();
    }
}
