package io.jrun.train.device;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.jrun.comm.Device;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/** The name of a GPU, from the driver. Stateless. */
public final class GpuName {
    private static final String DRIVER = "libcuda.so.1";
    private static final int MAX_BYTES = 256;

    private GpuName() {}

    /** The name of a device, such as {@code NVIDIA H100 80GB HBM3}; empty if the driver does not know the device. */
    public static Optional<String> of(Device device) {
        if (device.isCpu()) {
            return Optional.empty();
        }
        try (Arena arena = Arena.ofConfined()) {
            SymbolLookup driver = SymbolLookup.libraryLookup(DRIVER, arena);
            MemorySegment handle = arena.allocate(JAVA_INT);
            MemorySegment name = arena.allocate(MAX_BYTES);
            boolean isKnown = (int) function(driver, "cuInit", JAVA_INT).invokeExact(0) == 0
                    && (int) function(driver, "cuDeviceGet", ADDRESS, JAVA_INT).invokeExact(handle, device.index()) == 0
                    && (int) function(driver, "cuDeviceGetName", ADDRESS, JAVA_INT, JAVA_INT)
                                    .invokeExact(name, MAX_BYTES, handle.get(JAVA_INT, 0))
                            == 0;
            return isKnown ? Optional.of(name.getString(0)) : Optional.empty();
        } catch (IllegalArgumentException noDriver) {
            return Optional.empty();
        } catch (Throwable e) {
            throw new IllegalStateException("the name of " + device + " cannot be read from " + DRIVER, e);
        }
    }

    private static MethodHandle function(SymbolLookup driver, String name, MemoryLayout... parameters) {
        MemorySegment address =
                driver.find(name).orElseThrow(() -> new IllegalArgumentException(DRIVER + " has no function " + name));
        return Linker.nativeLinker().downcallHandle(address, FunctionDescriptor.of(JAVA_INT, parameters));
    }
}
