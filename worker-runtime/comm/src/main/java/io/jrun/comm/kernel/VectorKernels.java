package io.jrun.comm.kernel;

import io.jrun.comm.DataType;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The vector loops of each type. All types share the source {@link VectorKernel}, and every type has a class of its
 * own, so that the compiler optimizes the code for that type. Only for a VM with the Vector API.
 */
final class VectorKernels {
    private static final Map<DataType, Kernel> KERNELS = new ConcurrentHashMap<>();

    private VectorKernels() {}

    /** Returns the kernel of a type with vectors: all types but F16, BF16 and BOOL. */
    static Kernel of(DataType type) {
        return KERNELS.computeIfAbsent(type, VectorKernels::define);
    }

    private static Kernel define(DataType type) {
        try (InputStream source =
                Objects.requireNonNull(VectorKernels.class.getResourceAsStream("VectorKernel.class"))) {
            Lookup copy = MethodHandles.lookup().defineHiddenClassWithClassData(source.readAllBytes(), type, true);
            return (Kernel) copy.findConstructor(copy.lookupClass(), MethodType.methodType(void.class))
                    .invoke();
        } catch (IOException | ReflectiveOperationException e) {
            throw new IllegalStateException("the vector kernel of " + type + " cannot be defined", e);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
