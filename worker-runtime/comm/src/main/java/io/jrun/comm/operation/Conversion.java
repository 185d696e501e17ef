package io.jrun.comm.operation;

import io.jrun.comm.DataType;
import io.jrun.comm.kernel.Kernels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Converts elements of callers' memory to the elements on the wire and back: multiplies by a factor, rounds to a 16-bit
 * type, or only copies. Kernels work on a block in the first-level cache, never on a caller's memory.
 *
 * @param type type of the caller's elements
 * @param wire type of the elements on the wire: the same type, or a 16-bit type for F32
 * @param factor factor of the outgoing elements, applied before rounding
 */
public record Conversion(DataType type, DataType wire, double factor) {
    private static final int BLOCK = 1024;

    private static final ThreadLocal<MemorySegment> BLOCKS =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate((long) BLOCK * Double.BYTES, 64));

    /**
     * Writes {@code count} elements of {@code from}, from byte {@code at} on, to native memory at byte {@code wireAt}.
     */
    void toWire(MemorySegment from, long at, MemorySegment wireMemory, long wireAt, long count) {
        if (factor == 1 && wire == type) {
            MemorySegment.copy(from, at, wireMemory, wireAt, count * type.sizeBytes());
            return;
        }
        MemorySegment block = BLOCKS.get();
        for (long done = 0; done < count; done += BLOCK) {
            long length = Math.min(BLOCK, count - done);
            long target = wireAt + done * wire.sizeBytes();
            MemorySegment.copy(from, at + done * type.sizeBytes(), block, 0, length * type.sizeBytes());
            if (factor != 1) {
                Kernels.of(type, length).scale(block.address(), factor, length);
            }
            if (wire == type) {
                MemorySegment.copy(block, 0, wireMemory, target, length * type.sizeBytes());
            } else {
                Kernels.narrow(wire, block.address(), wireMemory.address() + target, length);
            }
        }
    }

    /** Writes {@code count} received elements to {@code to}, from byte {@code at} on. */
    void fromWire(MemorySegment wireMemory, long wireAt, MemorySegment to, long at, long count) {
        if (wire == type) {
            MemorySegment.copy(wireMemory, wireAt, to, at, count * type.sizeBytes());
            return;
        }
        MemorySegment block = BLOCKS.get();
        for (long done = 0; done < count; done += BLOCK) {
            long length = Math.min(BLOCK, count - done);
            Kernels.widen(wire, wireMemory.address() + wireAt + done * wire.sizeBytes(), block.address(), length);
            MemorySegment.copy(block, 0, to, at + done * type.sizeBytes(), length * type.sizeBytes());
        }
    }

    /** Multiplies {@code count} elements in place. */
    public void scale(MemorySegment memory, long count) {
        MemorySegment block = BLOCKS.get();
        for (long done = 0; done < count; done += BLOCK) {
            long length = Math.min(BLOCK, count - done);
            long bytes = length * type.sizeBytes();
            MemorySegment.copy(memory, done * type.sizeBytes(), block, 0, bytes);
            Kernels.of(type, length).scale(block.address(), factor, length);
            MemorySegment.copy(block, 0, memory, done * type.sizeBytes(), bytes);
        }
    }
}
