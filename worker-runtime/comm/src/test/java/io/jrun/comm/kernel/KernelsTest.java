package io.jrun.comm.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.DataType;
import io.jrun.comm.HalfReference;
import io.jrun.comm.ReduceOp;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class KernelsTest {
    private static final int MAX = 5000;
    private static final int[] COUNTS = {0, 1, 2, 15, 16, 17, 33, 65, 1023, MAX};

    /** All bytes with all bytes. */
    private static final int PAIRS = 1 << 16;

    private static MemorySegment random(DataType type, long seed, Arena arena) {
        MemorySegment memory = arena.allocate((long) MAX * type.sizeBytes(), 64);
        Random random = new Random(seed);
        for (int i = 0; i < MAX; i++) {
            switch (type) {
                case F16, BF16 -> memory.setAtIndex(ValueLayout.JAVA_SHORT, i, (short) random.nextInt());
                case F32 -> memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, special(random, i));
                case F64 -> memory.setAtIndex(ValueLayout.JAVA_DOUBLE, i, special(random, i));
                case I8, U8 -> memory.setAtIndex(ValueLayout.JAVA_BYTE, i, (byte) random.nextInt());
                case I32 -> memory.setAtIndex(ValueLayout.JAVA_INT, i, random.nextInt());
                case I64 -> memory.setAtIndex(ValueLayout.JAVA_LONG, i, random.nextLong());
                case BOOL -> memory.setAtIndex(ValueLayout.JAVA_BYTE, i, (byte) random.nextInt(2));
            }
        }
        return memory;
    }

    /** Ordinary numbers with zeros of both signs, infinities, NaN and a subnormal between them. */
    private static float special(Random random, int i) {
        float[] specials = {0f, -0f, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, Float.NaN, Float.MIN_VALUE};
        return i % 5 == 0 ? specials[random.nextInt(specials.length)] : (float) random.nextGaussian();
    }

    private static List<ReduceOp> operators(DataType type) {
        return Arrays.stream(ReduceOp.values()).filter(op -> op.supports(type)).toList();
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void vectorLoopsHaveTheBitsOfPlainLoops(DataType type) {
        try (Arena inputs = Arena.ofConfined()) {
            List<MemorySegment> numbers = IntStream.range(0, 7)
                    .mapToObj(seed -> random(type, seed, inputs))
                    .toList();
            for (ReduceOp op : operators(type)) {
                for (int count : COUNTS) {
                    byte[] vector = compute(Kernels.vector(type), type, op, count, numbers);
                    byte[] plain = compute(Kernels.scalar(type), type, op, count, numbers);
                    assertThat(Arrays.mismatch(vector, plain))
                            .as("%s %s of %d: first byte that differs", op, type, count)
                            .isEqualTo(-1);
                }
            }
        }
    }

    /** All operations of a kernel one after another; bytes behind the end show whether it stops there. */
    private static byte[] compute(Kernel kernel, DataType type, ReduceOp op, int count, List<MemorySegment> numbers) {
        try (Arena arena = Arena.ofConfined()) {
            List<MemorySegment> copies = numbers.stream()
                    .map(part -> arena.allocate(part.byteSize(), 64).copyFrom(part))
                    .toList();
            return compute(kernel, type, op, count, copies, arena);
        }
    }

    private static byte[] compute(
            Kernel kernel, DataType type, ReduceOp op, int count, List<MemorySegment> copies, Arena arena) {
        MemorySegment a = copies.get(0);
        MemorySegment b = copies.get(1);
        MemorySegment c = copies.get(2);
        MemorySegment d = copies.get(3);
        long scratch = arena.allocate(d.byteSize()).address();
        kernel.fold(op, new long[] {a.address(), b.address(), c.address()}, 0, d.address(), scratch, count);
        forgetWhichNan(type, d);
        kernel.combine(op, a.address(), b.address(), c.address(), count);
        if (ReduceOp.AVG.supports(type)) {
            kernel.divide(c.address(), 3, count);
        }
        if (type.isFloat()) {
            kernel.scale(c.address(), 1.0 / 3, count);
        }
        kernel.combineBoth(op, a.address(), b.address(), count);
        List<MemorySegment> ranks = copies.subList(4, 7);
        long[] addresses = ranks.stream().mapToLong(MemorySegment::address).toArray();
        kernel.foldAll(op, addresses, 0, scratch, count, type.sizeBytes());
        ranks.forEach(rank -> forgetWhichNan(type, rank));
        List<MemorySegment> parts = new ArrayList<>(List.of(a, b, c, d));
        parts.addAll(ranks);
        MemorySegment all = arena.allocate(parts.size() * a.byteSize());
        for (int part = 0; part < parts.size(); part++) {
            MemorySegment.copy(parts.get(part), 0, all, part * a.byteSize(), a.byteSize());
        }
        return all.toArray(ValueLayout.JAVA_BYTE);
    }

    /** Processors pass on the first of two different NaN, and compilers choose the order of the operands. */
    private static void forgetWhichNan(DataType type, MemorySegment memory) {
        for (int i = 0; i < MAX; i++) {
            if (type == DataType.F32 && Float.isNaN(memory.getAtIndex(ValueLayout.JAVA_FLOAT, i))) {
                memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, Float.NaN);
            }
            if (type == DataType.F64 && Double.isNaN(memory.getAtIndex(ValueLayout.JAVA_DOUBLE, i))) {
                memory.setAtIndex(ValueLayout.JAVA_DOUBLE, i, Double.NaN);
            }
        }
    }

    static Stream<Arguments> kernelsOfBytes() {
        return Stream.of(DataType.I8, DataType.U8, DataType.BOOL)
                .flatMap(type ->
                        Stream.of(Arguments.of(type, Kernels.scalar(type)), Arguments.of(type, Kernels.vector(type))));
    }

    @ParameterizedTest
    @MethodSource("kernelsOfBytes")
    void bytesAreReducedAsIntegersAre(DataType type, Kernel kernel) {
        int values = type == DataType.BOOL ? 2 : 256;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment a = arena.allocate(PAIRS, 64);
            MemorySegment b = arena.allocate(PAIRS, 64);
            for (int i = 0; i < PAIRS; i++) {
                a.set(ValueLayout.JAVA_BYTE, i, (byte) (i % values));
                b.set(ValueLayout.JAVA_BYTE, i, (byte) (i / values % values));
            }
            MemorySegment c = arena.allocate(PAIRS, 64);
            for (ReduceOp op : operators(type)) {
                kernel.combine(op, a.address(), b.address(), c.address(), PAIRS);
                if (op == ReduceOp.AVG) {
                    kernel.divide(c.address(), 3, PAIRS);
                }
                for (int i = 0; i < PAIRS; i++) {
                    int expected = reduced(type, op, integer(type, a, i), integer(type, b, i));
                    if (integer(type, c, i) != expected) {
                        assertThat(integer(type, c, i))
                                .as("%s of %d and %d", op, integer(type, a, i), integer(type, b, i))
                                .isEqualTo(expected);
                    }
                }
            }
        }
    }

    private static int integer(DataType type, MemorySegment memory, int at) {
        byte element = memory.get(ValueLayout.JAVA_BYTE, at);
        return type == DataType.I8 ? element : element & 0xff;
    }

    private static int reduced(DataType type, ReduceOp op, int x, int y) {
        int result = switch (op) {
            case SUM -> type == DataType.BOOL ? Math.min(1, x + y) : x + y;
            case AVG -> wrapped(type, x + y) / 3;
            case PROD -> x * y;
            case MIN -> Math.min(x, y);
            case MAX -> Math.max(x, y);
            case BAND -> x & y;
            case BOR -> x | y;
            case BXOR -> x ^ y;
        };
        return wrapped(type, result);
    }

    private static int wrapped(DataType type, int value) {
        return type == DataType.I8 ? (byte) value : value & 0xff;
    }

    static Stream<Arguments> kernelsOfHalves() {
        return Stream.of(DataType.F16, DataType.BF16)
                .flatMap(type ->
                        Stream.of(Arguments.of(type, Kernels.scalar(type)), Arguments.of(type, Kernels.vector(type))));
    }

    /** Random codes: all exponents, subnormal numbers, infinities and NaN; and every code with zeros of both signs. */
    @ParameterizedTest
    @MethodSource("kernelsOfHalves")
    void halvesAreReducedInBinary32AndRoundedOnce(DataType type, Kernel kernel) {
        HalfReference reference = HalfReference.of(type);
        Random random = new Random(7);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment[] in = new MemorySegment[3];
            for (int part = 0; part < in.length; part++) {
                in[part] = arena.allocate(2L * PAIRS, 64);
                for (int i = 0; i < PAIRS; i++) {
                    short zero = (short) (i % 2 == 0 ? 0 : 0x8000);
                    short code = part == 0 ? (short) i : i % 8 == 0 ? zero : (short) random.nextInt();
                    in[part].setAtIndex(ValueLayout.JAVA_SHORT, i, code);
                }
            }
            MemorySegment out = arena.allocate(2L * PAIRS, 64);
            long[] contributions =
                    Stream.of(in).mapToLong(MemorySegment::address).toArray();
            for (ReduceOp op : operators(type)) {
                kernel.fold(op, contributions, 0, out.address(), 0, PAIRS);
                for (int i = 0; i < PAIRS; i++) {
                    float[] x = new float[in.length];
                    for (int part = 0; part < in.length; part++) {
                        x[part] = (float) reference.value(in[part].getAtIndex(ValueLayout.JAVA_SHORT, i));
                    }
                    short expected = reference.round(reduced(op, x));
                    short actual = out.getAtIndex(ValueLayout.JAVA_SHORT, i);
                    if (actual != expected) {
                        assertThat(reference.value(actual))
                                .as("%s of %s, 0x%04x", op, Arrays.toString(x), actual)
                                .isEqualTo(reference.value(expected));
                        assertThat(actual)
                                .as("%s of %s", op, Arrays.toString(x))
                                .isEqualTo(expected);
                    }
                }
            }
        }
    }

    private static float reduced(ReduceOp op, float[] x) {
        return switch (op) {
            case SUM -> x[0] + x[1] + x[2];
            case AVG -> (x[0] + x[1] + x[2]) / 3;
            case PROD -> x[0] * x[1] * x[2];
            case MIN -> Math.min(Math.min(x[0], x[1]), x[2]);
            case MAX -> Math.max(Math.max(x[0], x[1]), x[2]);
            case BAND, BOR, BXOR -> throw new IllegalArgumentException(op + " of floating point numbers");
        };
    }

    /** A program of its own, whose types no other test has used. */
    static final class WarmUps {
        private WarmUps() {}

        /** Entry point. */
        public static void main(String[] args) {
            for (int megabytes : new int[] {1, 4, 16}) {
                Kernel first = Kernels.of(DataType.F32, ((long) megabytes << 20) / Float.BYTES);
                System.out.println(megabytes + " MB: scalar "
                        + Kernels.scalar(DataType.F32).equals(first) + ", warm-up "
                        + Thread.getAllStackTraces().keySet().stream()
                                .anyMatch(thread -> thread.getName().equals("kernel-warm-up-f32")));
            }
            Runtime.getRuntime().halt(0);
        }
    }

    /** The compilation takes half a second of a core, which a job of small reductions must not spend. */
    @ParameterizedTest
    @CsvSource({"4, true", "1, false"})
    void vectorLoopsAreCompiledForLargeReductionsAndByTheOptimizingCompilerOnly(int level, boolean warmsUp)
            throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=" + level,
                        "--add-modules=jdk.incubator.vector",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        WarmUps.class.getName())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(printed.lines())
                .containsExactly(
                        "1 MB: scalar true, warm-up false",
                        "4 MB: scalar true, warm-up false",
                        "16 MB: scalar true, warm-up " + warmsUp);
    }
}
