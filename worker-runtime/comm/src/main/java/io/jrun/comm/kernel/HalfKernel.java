package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Arithmetic of a 16-bit floating point format, in binary32. Blocks are widened, reduced by the kernel of binary32, and
 * rounded once at the end of each method. The blocks stay in the first-level cache, where separate passes cost little
 * more than one fused loop.
 */
final class HalfKernel implements Kernel {
    private static final int BLOCK = 1024;
    private static final long WIDE_BYTES = (long) BLOCK * Float.BYTES;

    /** Memory for two blocks of binary32. Kernels are stateless, so the memory belongs to the thread. */
    private static final ThreadLocal<MemorySegment> WIDE =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(2 * WIDE_BYTES, 64));

    private final HalfFormat format;
    private final Kernel floats;

    /** Makes the arithmetic of {@code format} with {@code floats}, a kernel of binary32. */
    HalfKernel(HalfFormat format, Kernel floats) {
        this.format = format;
        this.floats = floats;
    }

    HalfFormat format() {
        return format;
    }

    /** The action on a block of binary32 between widening and rounding. */
    @FunctionalInterface
    private interface Step {
        /**
         * @param wide address of the block
         * @param offset offset of the block's halves from the first half, in bytes
         * @param length number of elements
         */
        void apply(long wide, long offset, long length);
    }

    /** Widens each block of halves at {@code in}, applies {@code step}, and rounds the block into {@code out}. */
    private void eachBlock(long in, long out, long count, Step step) {
        long wide = WIDE.get().address();
        for (long at = 0; at < count; at += BLOCK) {
            long offset = at * HalfFormat.SIZE;
            long length = Math.min(BLOCK, count - at);
            format.widen(in + offset, wide, length);
            step.apply(wide, offset, length);
            format.narrow(wide, out + offset, length);
        }
    }

    @Override
    public void combine(ReduceOp op, long a, long b, long out, long count) {
        eachBlock(a, out, count, (wide, offset, length) -> include(op, b + offset, wide, length));
    }

    @Override
    public void combineBoth(ReduceOp op, long a, long b, long count) {
        eachBlock(a, a, count, (wide, offset, length) -> {
            include(op, b + offset, wide, length);
            if (op == ReduceOp.AVG) {
                floats.divide(wide, 2, length);
            }
        });
        MemorySegment.copy(ALL, a, ALL, b, count * HalfFormat.SIZE);
    }

    @Override
    public void divide(long data, int divisor, long count) {
        eachBlock(data, data, count, (wide, _, length) -> floats.divide(wide, divisor, length));
    }

    @Override
    public void scale(long data, double factor, long count) {
        eachBlock(data, data, count, (wide, _, length) -> floats.scale(wide, factor, length));
    }

    /** Reduces all contributions with the running result in binary32. */
    @Override
    public void fold(ReduceOp op, long[] contributions, long offset, long out, long scratch, long count) {
        eachBlock(contributions[0] + offset, out, count, (wide, at, length) -> {
            for (int rank = 1; rank < contributions.length; rank++) {
                include(op, contributions[rank] + offset + at, wide, length);
            }
            if (op == ReduceOp.AVG) {
                floats.divide(wide, contributions.length, length);
            }
        });
    }

    /** Reduces a block of halves into the running result at {@code wide}. */
    private void include(ReduceOp op, long halves, long wide, long length) {
        format.widen(halves, wide + WIDE_BYTES, length);
        floats.combine(op, wide, wide + WIDE_BYTES, wide, length);
    }
}
