package io.jrun.comm.kernel;

import io.jrun.comm.DataType;

/** The kernels of this VM: chosen once, by whether the incubator module of the Vector API is there. */
public final class Kernels {
    private static final boolean VECTORS =
            ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent();

    private Kernels() {}

    /** The fastest kernel for {@code type}. */
    public static Kernel of(DataType type) {
        return VECTORS ? vector(type) : scalar(type);
    }

    /** The plain loops; the same bits as {@link #of}. */
    public static Kernel scalar(DataType type) {
        return switch (type) {
            case F32 -> ScalarF32.INSTANCE;
            case F64 -> ScalarF64.INSTANCE;
            case I32 -> ScalarI32.INSTANCE;
            case I64 -> ScalarI64.INSTANCE;
        };
    }

    private static Kernel vector(DataType type) {
        return switch (type) {
            case F32 -> VectorF32.INSTANCE;
            case F64 -> VectorF64.INSTANCE;
            case I32 -> VectorI32.INSTANCE;
            case I64 -> VectorI64.INSTANCE;
        };
    }
}
