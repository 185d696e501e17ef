package io.jrun.comm.operation;

import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Scratch;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * Runs an operation on a packed copy of several buffers. The elements are converted on their way into and out of the
 * copy. Coalescing, factors and compression use a packed copy on every data plane. Block r of the packed buffer holds
 * the r-th blocks of all buffers.
 *
 * @param conversion of the elements
 * @param input buffers that are packed
 * @param output buffers that are unpacked
 * @param isInPlace whether the operation's result replaces its input
 * @param receivesResult whether this rank receives the result
 * @param scratch memory of the packed copy
 */
public record Packing(
        Conversion conversion,
        Buffers input,
        Buffers output,
        boolean isInPlace,
        boolean receivesResult,
        Scratch scratch)
        implements BiConsumer<Backend, Call> {
    private static final long ALIGNMENT = 64;

    /**
     * Buffers that are packed together.
     *
     * @param counts elements of one block of each buffer
     * @param blocks number of blocks of each buffer
     */
    public record Buffers(List<MemorySegment> memory, List<Long> counts, int blocks) {
        public static Buffers of(MemorySegment memory, long count) {
            return new Buffers(List.of(memory), List.of(count), 1);
        }

        /** Elements in all buffers. */
        long total() {
            return counts.stream().mapToLong(Long::longValue).sum() * blocks;
        }
    }

    /** The action on one part of a buffer. {@code packedAt} is the offset of the part in the packed buffer. */
    @FunctionalInterface
    private interface Part {
        void visit(MemorySegment memory, long at, long packedAt, long count);
    }

    @Override
    public void accept(Backend backend, Call call) {
        long inputBytes = packedBytes(input);
        MemorySegment packed = scratch.of(inputBytes + (isInPlace ? 0 : packedBytes(output)));
        MemorySegment result = isInPlace ? packed : packed.asSlice(inputBytes);
        forEach(input, (memory, at, packedAt, count) -> conversion.toWire(memory, at, packed, packedAt, count));
        backend.run(call.withBuffers(packed, result));
        if (receivesResult) {
            forEach(output, (memory, at, packedAt, count) -> conversion.fromWire(result, packedAt, memory, at, count));
        }
    }

    private long packedBytes(Buffers buffers) {
        long bytes = buffers.total() * conversion.wire().sizeBytes();
        return Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT;
    }

    private void forEach(Buffers buffers, Part part) {
        long packedAt = 0;
        for (int block = 0; block < buffers.blocks(); block++) {
            for (int buffer = 0; buffer < buffers.memory().size(); buffer++) {
                long count = buffers.counts().get(buffer);
                long at = block * count * conversion.type().sizeBytes();
                part.visit(buffers.memory().get(buffer), at, packedAt, count);
                packedAt += count * conversion.wire().sizeBytes();
            }
        }
    }
}
