package io.jrun.comm;

import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import java.lang.foreign.MemorySegment;
import java.util.stream.IntStream;

/** Makes the calls of a backend those of a program, in its own memory or in registered memory. */
final class GroupCalls {
    private final ProcessGroup group;
    private final MemorySegment registered;

    /** @param registeredBytes of registered memory for a call's buffers; 0: calls are made in their own memory */
    GroupCalls(ProcessGroup group, long registeredBytes) {
        this.group = group;
        this.registered = registeredBytes == 0 ? MemorySegment.NULL : group.allocate(registeredBytes);
    }

    void run(Call call) {
        if (registered.byteSize() == 0) {
            run(call, call.input(), call.output());
            return;
        }
        boolean isInPlace = call.input().equals(call.output());
        MemorySegment input = registered.asSlice(0, call.input().byteSize()).copyFrom(call.input());
        MemorySegment output = isInPlace
                ? input
                : registered.asSlice(call.input().byteSize(), call.output().byteSize());
        run(call, input, output);
        call.output().copyFrom(output);
    }

    private void run(Call call, MemorySegment input, MemorySegment output) {
        DataType type = call.type();
        int root = call.root();
        long count = call.count();
        Blocks uneven = call.uneven();
        if (uneven != null) {
            long[] counts = counts(uneven);
            switch (call.kind()) {
                case ALL_GATHER -> group.allGatherV(input, output, type, counts);
                case REDUCE_SCATTER -> group.reduceScatterV(input, output, type, call.op(), counts);
                case GATHER -> group.gatherV(input, output, type, root, counts);
                case SCATTER -> group.scatterV(input, output, type, root, counts);
                case ALL_TO_ALL -> group.allToAllV(input, counts, output, counts(call.incoming(group.size())), type);
                default -> throw new IllegalArgumentException(call.describe());
            }
            return;
        }
        switch (call.kind()) {
            case BROADCAST -> group.broadcast(input, type, count, root);
            case ALL_REDUCE -> group.allReduce(input, type, count, call.op());
            case REDUCE -> group.reduce(input, type, count, call.op(), root);
            case ALL_GATHER -> group.allGather(input, output, type, count);
            case REDUCE_SCATTER -> group.reduceScatter(input, output, type, count, call.op());
            case GATHER -> group.gather(input, output, type, count, root);
            case SCATTER -> group.scatter(input, output, type, count, root);
            case ALL_TO_ALL -> group.allToAll(input, output, type, count);
            case BARRIER -> group.barrier();
            case SEND, RECV, ALLOCATE, ALLOCATE_SHARED -> throw new IllegalArgumentException(call.describe());
        }
    }

    private long[] counts(Blocks blocks) {
        return IntStream.range(0, group.size()).mapToLong(blocks::count).toArray();
    }
}
