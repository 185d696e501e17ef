package io.jrun.comm.kernel;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.control.RuntimeThread;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The kernels of this VM: vector loops if the VM has the incubator module of the Vector API, else scalar loops.
 *
 * <p>Vector code is hundreds of times slower until the optimizing compiler has compiled it. The first use of a type
 * therefore starts a thread that runs the vector kernel until it is compiled. Until then the scalar loops are used;
 * their results have the same bits.
 */
public final class Kernels {
    /** The number of calls on a small block after which a kernel is compiled, with a wide margin for a busy machine. */
    private static final int WARM_UP_CALLS = 20_000;

    private static final long WARM_UP_BYTES = 1024;

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

    /**
     * Returns the kernel for {@code type} that is currently fastest. Thread-safe. Callers call the method for every
     * block.
     */
    public static Kernel of(DataType type) {
        return switch (type) {
            case F16 -> F16.current();
            case BF16 -> BF16.current();
            case F32 -> F32.current();
            case F64 -> F64.current();
            case I8 -> I8.current();
            case U8 -> U8.current();
            case I32 -> I32.current();
            case I64 -> I64.current();
            case BOOL -> BOOL.current();
        };
    }

    /**
     * Rounds {@code count} elements of binary32 to a 16-bit type, see {@link HalfFormat#narrow}. The ranges must not
     * overlap.
     */
    public static void narrow(DataType half, long floats, long halves, long count) {
        format(half).narrow(floats, halves, count);
    }

    /** Converts {@code count} elements of a 16-bit type to binary32, exactly. The ranges must not overlap. */
    public static void widen(DataType half, long halves, long floats, long count) {
        format(half).widen(halves, floats, count);
    }

    private static HalfFormat format(DataType half) {
        if (of(half) instanceof HalfKernel kernel) {
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
        private final AtomicBoolean requested = new AtomicBoolean();
        private volatile Kernel current;

        Slot(DataType type) {
            this.type = type;
            this.current = scalar(type);
        }

        Kernel current() {
            if (!requested.getPlain() && requested.compareAndSet(false, true)) {
                var _ = RuntimeThread.start("kernel-warm-up-" + type.label(), this::warmUp);
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
