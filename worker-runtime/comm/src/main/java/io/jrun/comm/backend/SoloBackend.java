package io.jrun.comm.backend;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** The data plane of a group of one: every operation is a copy from input to output, or nothing. */
public final class SoloBackend implements Backend {
    private static final long ALIGNMENT = 64;

    private final Arena arena = Arena.ofShared();

    @Override
    public void run(Call call) {
        switch (call.kind()) {
            case ALL_GATHER, REDUCE_SCATTER, GATHER, SCATTER, ALL_TO_ALL ->
                MemorySegment.copy(
                        call.input(),
                        0,
                        call.output(),
                        0,
                        call.blocks(1).total() * call.type().sizeBytes());
            case BROADCAST, ALL_REDUCE, REDUCE, BARRIER -> {}
            case SEND, RECV, ALLOCATE -> throw new IllegalArgumentException(call.describe() + " in a group of one");
        }
    }

    @Override
    public MemorySegment allocate(Call call) {
        return arena.allocate(call.bytes(), ALIGNMENT);
    }

    @Override
    public void healthChanged() {}

    @Override
    public void close() {
        arena.close();
    }
}
