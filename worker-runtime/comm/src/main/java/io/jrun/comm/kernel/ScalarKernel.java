package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Scalar loops over arrays. Blocks of memory are copied to arrays, because loops over arrays are fast with every
 * compiler of the VM, and loops over memory segments only with the optimizing compiler. Subclasses have the loops of
 * one type.
 *
 * @param <A> array of the elements
 */
abstract class ScalarKernel<A> implements Kernel {
    private static final int BLOCK_BYTES = 4096;

    private final ValueLayout layout;
    private final long size;
    private final int block;

    /** @param layout layout of an element, for any alignment */
    ScalarKernel(ValueLayout layout) {
        this.layout = layout;
        this.size = layout.byteSize();
        this.block = BLOCK_BYTES / (int) size;
    }

    abstract A array(int length);

    /** Computes {@code x[i] = x[i] op y[i]}. */
    abstract void combine(ReduceOp op, A x, A y, int length);

    /** Computes {@code x[i] /= divisor}. */
    abstract void divide(A x, int divisor, int length);

    /** Computes {@code x[i] *= factor}. */
    void scale(A x, double factor, int length) {
        throw new IllegalArgumentException("a factor for numbers that are not floating point");
    }

    @Override
    public final void combine(ReduceOp op, long a, long b, long out, long count) {
        if (count == 0) {
            return; // A vector loop without remaining elements.
        }
        A x = array((int) Math.min(count, block));
        A y = array((int) Math.min(count, block));
        for (long done = 0; done < count; done += block) {
            int length = (int) Math.min(count - done, block);
            MemorySegment.copy(ALL, layout, a + done * size, x, 0, length);
            MemorySegment.copy(ALL, layout, b + done * size, y, 0, length);
            combine(op, x, y, length);
            MemorySegment.copy(x, 0, ALL, layout, out + done * size, length);
        }
    }

    @Override
    public final void combineBoth(ReduceOp op, long a, long b, long count) {
        combine(op, a, b, a, count);
        if (op == ReduceOp.AVG) {
            divide(a, 2, count);
        }
        MemorySegment.copy(ALL, a, ALL, b, count * size);
    }

    @Override
    public final void divide(long data, int divisor, long count) {
        eachBlock(data, count, (x, length) -> divide(x, divisor, length));
    }

    @Override
    public final void scale(long data, double factor, long count) {
        eachBlock(data, count, (x, length) -> scale(x, factor, length));
    }

    @FunctionalInterface
    private interface BlockLoop<A> {
        void run(A x, int length);
    }

    private void eachBlock(long data, long count, BlockLoop<A> loop) {
        if (count == 0) {
            return; // A vector loop without remaining elements.
        }
        A x = array((int) Math.min(count, block));
        for (long done = 0; done < count; done += block) {
            int length = (int) Math.min(count - done, block);
            MemorySegment.copy(ALL, layout, data + done * size, x, 0, length);
            loop.run(x, length);
            MemorySegment.copy(x, 0, ALL, layout, data + done * size, length);
        }
    }
}
