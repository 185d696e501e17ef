package io.jrun.comm.kernel;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.control.RuntimeThread;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The kernels of this VM: vector loops if the VM has the incubator module of the Vector API, else scalar loops.
 *
 * <p>Vector code is hundreds of times slower until the optimizing compiler has compiled it. A thread therefore runs the
 * vector kernel of a type until it is compiled. Until then the scalar loops are used; their results have the same bits.
 * The compilation takes half a second of a core, so the thread starts when a type has had {@value #WORTHWHILE_BYTES}
 * bytes. In a VM without the optimizing compiler, such as one with {@code -XX:TieredStopAtLevel=1}, no thread starts.
 */
public final class Kernels {
    /** The number of calls on a small block after which a kernel is compiled, with a wide margin for a busy machine. */
    private static final int WARM_UP_CALLS = 20_000;

    private static final long WARM_UP_BYTES = 1024;

    /** The scalar loops need a few milliseconds for these bytes, which is far less than the compilation takes. */
    private static final long WORTHWHILE_BYTES = 8 << 20;

    private static final boolean OPTIMIZES = hasOptimizingCompiler();

    private static final Slot F16 = new Slot(DataType.F16);
    private static final Slot BF16 = new Slot(DataType.BF16);
    private static final Slot F32 = new Slot(DataType.F32);
    private static final Slot F64 = new Slot(DataType.F64);
    private static final Slot I8 = new Slot(DataType.I8);
    private static final Slot U8 = new Slot(DataType.U8);
    private static final Slot I32 = new Slot(DataType.I32);
    private static final Slot I64 = new Slot(DataType.I64);
    private static final Slot BOOL = new Slot(DataType.BOOL);

    private Kernels() {}

    /** HotSpot names its mode "mixed mode, emulated-client" if it has the first compiler only. */
    private static boolean hasOptimizingCompiler() {
        String mode = System.getProperty("java.vm.info", "");
        return !mode.contains("emulated-client") && !mode.contains("interpreted mode");
    }

    /**
     * Returns the kernel for {@code type} that is currently fastest. Thread-safe. Callers call the method for every
     * block.
     *
     * @param count the elements of the block
     */
    public static Kernel of(DataType type, long count) {
        return slot(type).current(count);
    }

    private static Slot slot(DataType type) {
        return switch (type) {
            case F16 -> F16;
            case BF16 -> BF16;
            case F32 -> F32;
            case F64 -> F64;
            case I8 -> I8;
            case U8 -> U8;
            case I32 -> I32;
            case I64 -> I64;
            case BOOL -> BOOL;
        };
    }

    /**
     * Rounds {@code count} elements of binary32 to a 16-bit type, see {@link HalfFormat#narrow}. The ranges must not
     * overlap.
     */
    public static void narrow(DataType half, long floats, long halves, long count) {
        format(half, count).narrow(floats, halves, count);
    }

    /** Converts {@code count} elements of a 16-bit type to binary32, exactly. The ranges must not overlap. */
    public static void widen(DataType half, long halves, long floats, long count) {
        format(half, count).widen(halves, floats, count);
    }

    private static HalfFormat format(DataType half, long count) {
        if (of(half, count) instanceof HalfKernel kernel) {
            return kernel.format();
        }
        throw new IllegalArgumentException(half + " is not a 16-bit type");
    }

    /** Returns the scalar loops. */
    public static Kernel scalar(DataType type) {
        return switch (type) {
            case F16 -> new HalfKernel(ScalarF16.INSTANCE, ScalarF32.INSTANCE);
            case BF16 -> new HalfKernel(ScalarBf16.INSTANCE, ScalarF32.INSTANCE);
            case F32 -> ScalarF32.INSTANCE;
            case F64 -> ScalarF64.INSTANCE;
            case I8 -> ScalarI8.SIGNED;
            case U8 -> ScalarI8.UNSIGNED;
            case I32 -> ScalarI32.INSTANCE;
            case I64 -> ScalarI64.INSTANCE;
            case BOOL -> new BoolKernel(ScalarI8.SIGNED);
        };
    }

    /** Returns the vector loops, or the scalar loops if the VM has no Vector API. */
    public static Kernel vector(DataType type) {
        if (ModuleLayer.boot().findModule("jdk.incubator.vector").isEmpty()) {
            return scalar(type);
        }
        return switch (type) {
            case F16 -> new HalfKernel(VectorF16.INSTANCE, VectorKernels.of(DataType.F32));
            case BF16 -> new HalfKernel(VectorBf16.INSTANCE, VectorKernels.of(DataType.F32));
            case F32, F64, I8, U8, I32, I64 -> VectorKernels.of(type);
            case BOOL -> new BoolKernel(VectorKernels.of(DataType.I8));
        };
    }

    private static final class Slot {
        private final DataType type;
        private final AtomicBoolean requested = new AtomicBoolean(!OPTIMIZES);
        /** Approximate, because several threads add to it without order. */
        private long bytes;

        private volatile Kernel current;

        Slot(DataType type) {
            this.type = type;
            this.current = scalar(type);
        }

        Kernel current(long count) {
            if (!requested.getPlain()) {
                bytes += count * type.sizeBytes();
                if (bytes >= WORTHWHILE_BYTES && requested.compareAndSet(false, true)) {
                    var _ = RuntimeThread.start("kernel-warm-up-" + type.label(), this::warmUp);
                }
            }
            return current;
        }

        private void warmUp() {
            Kernel vector = vector(type);
            try (Arena arena = Arena.ofConfined()) {
                long a = arena.allocate(WARM_UP_BYTES, WARM_UP_BYTES).address();
                long b = arena.allocate(WARM_UP_BYTES, WARM_UP_BYTES).address();
                long scratch = arena.allocate(WARM_UP_BYTES, WARM_UP_BYTES).address();
                long[] ranks = {
                    a, b, arena.allocate(WARM_UP_BYTES, WARM_UP_BYTES).address()
                };
                long count = WARM_UP_BYTES / type.sizeBytes();
                for (int call = 0; call < WARM_UP_CALLS; call++) {
                    vector.combine(ReduceOp.SUM, a, b, a, count);
                    boolean averages = call % 2 == 0 && ReduceOp.AVG.supports(type);
                    vector.combineBoth(averages ? ReduceOp.AVG : ReduceOp.SUM, a, b, count);
                    if (averages) {
                        vector.divide(a, 2, count);
                    }
                    vector.foldAll(ReduceOp.SUM, ranks, 0, scratch, count, type.sizeBytes());
                    if (type.isFloat()) {
                        vector.scale(a, 0.5, count);
                    }
                }
            }
            current = vector;
        }
    }
}
