package io.jrun.comm.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class KernelsTest {
    private static final int MAX = 5000;
    private static final int[] COUNTS = {0, 1, 2, 15, 16, 17, 33, 1023, MAX};

    private static MemorySegment random(DataType type, long seed, Arena arena) {
        MemorySegment memory = arena.allocate((long) MAX * type.sizeBytes(), 64);
        Random random = new Random(seed);
        for (int i = 0; i < MAX; i++) {
            switch (type) {
                case F32 -> memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, special(random, i));
                case F64 -> memory.setAtIndex(ValueLayout.JAVA_DOUBLE, i, special(random, i));
                case I32 -> memory.setAtIndex(ValueLayout.JAVA_INT, i, random.nextInt());
                case I64 -> memory.setAtIndex(ValueLayout.JAVA_LONG, i, random.nextLong());
            }
        }
        return memory;
    }

    /** Ordinary numbers with zeros of both signs, infinities, NaN and a subnormal between them. */
    private static float special(Random random, int i) {
        float[] specials = {0f, -0f, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, Float.NaN, Float.MIN_VALUE};
        return i % 5 == 0 ? specials[random.nextInt(specials.length)] : (float) random.nextGaussian();
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void vectorLoopsHaveTheBitsOfPlainLoops(DataType type) {
        for (ReduceOp op : ReduceOp.values()) {
            for (int count : COUNTS) {
                try (Arena arena = Arena.ofConfined()) {
                    byte[] vector = compute(Kernels.vector(type), type, op, count, arena);
                    byte[] plain = compute(Kernels.scalar(type), type, op, count, arena);
                    assertThat(vector).as("%s %s of %d", op, type, count).isEqualTo(plain);
                }
            }
        }
    }

    /** All three operations of a kernel one after another; bytes behind the end show whether it stops there. */
    private static byte[] compute(Kernel kernel, DataType type, ReduceOp op, int count, Arena arena) {
        MemorySegment a = random(type, 1, arena);
        MemorySegment b = random(type, 2, arena);
        MemorySegment c = random(type, 3, arena);
        kernel.combine(op, a.address(), b.address(), c.address(), count);
        kernel.divide(c.address(), 3, count);
        kernel.combineBoth(op, a.address(), b.address(), count);
        MemorySegment all = arena.allocate(3 * a.byteSize());
        MemorySegment.copy(a, 0, all, 0, a.byteSize());
        MemorySegment.copy(b, 0, all, a.byteSize(), a.byteSize());
        MemorySegment.copy(c, 0, all, 2 * a.byteSize(), a.byteSize());
        return all.toArray(ValueLayout.JAVA_BYTE);
    }
}
