package io.jrun.comm.backend;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;

/** The data plane of a group of one rank: every operation is a copy from input to output, or nothing. */
public final class SoloBackend implements Backend {
    private static final long ALIGNMENT = 64;

    private final Arena arena = Arena.ofShared();

    @Override
    public void run(Call call) {
        switch (call.kind()) {
            case ALL_GATHER, REDUCE_SCATTER, GATHER, SCATTER, ALL_TO_ALL -> copy(call);
            case BROADCAST, ALL_REDUCE, REDUCE, BARRIER -> {}
            case SEND, RECV, ALLOCATE, ALLOCATE_SHARED ->
                throw new IllegalArgumentException(call.describe() + " in a group of one");
        }
    }

    private static void copy(Call call) {
        Blocks blocks = call.blocks(1);
        boolean isIntoBlock = call.kind() == OpKind.ALL_GATHER || call.kind() == OpKind.GATHER;
        long place = blocks.offset(0) * call.type().sizeBytes();
        long bytes = blocks.total() * call.type().sizeBytes();
        MemorySegment from = call.input().asSlice(isIntoBlock ? 0 : place, bytes);
        MemorySegment to = call.output().asSlice(isIntoBlock ? place : 0, bytes);
        if (!from.equals(to)) {
            to.copyFrom(from);
        }
    }

    @Override
    public MemorySegment allocate(Call call) {
        return arena.allocate(call.bytes(), ALIGNMENT);
    }

    @Override
    public Optional<List<MemorySegment>> allocateShared(Call call, long bytes, Arena memory) {
        return Optional.of(List.of(memory.allocate(bytes, ALIGNMENT)));
    }

    @Override
    public void healthChanged() {}

    @Override
    public void close() {
        arena.close();
    }
}
