package io.jrun.comm.operation;

import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Scratch;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * Runs an operation on a copy of its data in which several buffers lie one behind the other, converted on their way in and
 * out: what coalescing, a factor, and compression have in common, on every data plane. Block r of the packed buffer holds
 * the r-th blocks of all buffers.
 *
 * @param conversion of the elements
 * @param input what is packed
 * @param output what is unpacked
 * @param isInPlace whether the operation's result replaces its input
 * @param takes whether this rank has a part in the result
 * @param scratch where the copy goes
 */
public record Packing(
        Conversion conversion, Buffers input, Buffers output, boolean isInPlace, boolean takes, Scratch scratch)
        implements BiConsumer<Backend, Call> {
    private static final long ALIGNMENT = 64;

    /**
     * Buffers that are packed together.
     *
     * @param counts elements of one block of each buffer
     * @param blocks how many each has
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

    /** What is done with the part of a buffer that is to be found at an offset of the packed one. */
    @FunctionalInterface
    private interface Part {
        void visit(MemorySegment memory, long at, long packedAt, long count);
    }

    @Override
    public void accept(Backend backend, Call call) {
        long inputBytes = packedBytes(input);
        MemorySegment packed = scratch.of(inputBytes + (isInPlace ? 0 : packedBytes(output)));
        MemorySegment result = isInPlace ? packed : packed.asSlice(inputBytes);
        forEach(input, (memory, at, packedAt, count) -> conversion.out(memory, at, packed, packedAt, count));
        backend.run(call.withBuffers(packed, result));
        if (takes) {
            forEach(output, (memory, at, packedAt, count) -> conversion.in(result, packedAt, memory, at, count));
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
