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

/** What NVIDIA's driver says of a GPU. Stateless. */
final class CudaDriver {
    private static final String FILE = "libcuda.so.1";
    private static final int MAX_NAME_BYTES = 256;

    /** CUdevice_attribute of cuda.h. */
    private static final int CAPABILITY_MAJOR = 75;

    private static final int CAPABILITY_MINOR = 76;

    private CudaDriver() {}

    /** Reads from an open driver; throws what a method handle throws. */
    private interface Question<T> {
        Optional<T> ask(SymbolLookup driver, int handle, Arena arena) throws Throwable;
    }

    /** The name of a device; empty if the driver does not know the device. */
    static Optional<String> name(Device device) {
        return read(device, (driver, handle, arena) -> {
            MemorySegment name = arena.allocate(MAX_NAME_BYTES);
            boolean isKnown = (int) function(driver, "cuDeviceGetName", ADDRESS, JAVA_INT, JAVA_INT)
                            .invokeExact(name, MAX_NAME_BYTES, handle)
                    == 0;
            return isKnown ? Optional.of(name.getString(0)) : Optional.empty();
        });
    }

    /** The compute capability of a device; empty if the driver does not know the device. */
    static Optional<ComputeCapability> capability(Device device) {
        return read(device, (driver, handle, arena) -> {
            MethodHandle attribute = function(driver, "cuDeviceGetAttribute", ADDRESS, JAVA_INT, JAVA_INT);
            MemorySegment major = arena.allocate(JAVA_INT);
            MemorySegment minor = arena.allocate(JAVA_INT);
            boolean isKnown = (int) attribute.invokeExact(major, CAPABILITY_MAJOR, handle) == 0
                    && (int) attribute.invokeExact(minor, CAPABILITY_MINOR, handle) == 0;
            return isKnown
                    ? Optional.of(new ComputeCapability(major.get(JAVA_INT, 0), minor.get(JAVA_INT, 0)))
                    : Optional.empty();
        });
    }

    private static <T> Optional<T> read(Device device, Question<T> question) {
        if (device.isCpu()) {
            return Optional.empty();
        }
        try (Arena arena = Arena.ofConfined()) {
            SymbolLookup driver = SymbolLookup.libraryLookup(FILE, arena);
            MemorySegment handle = arena.allocate(JAVA_INT);
            boolean isKnown = (int) function(driver, "cuInit", JAVA_INT).invokeExact(0) == 0
                    && (int) function(driver, "cuDeviceGet", ADDRESS, JAVA_INT).invokeExact(handle, device.index())
                            == 0;
            return isKnown ? question.ask(driver, handle.get(JAVA_INT, 0), arena) : Optional.empty();
        } catch (IllegalArgumentException noDriver) {
            return Optional.empty();
        } catch (Throwable e) {
            throw new IllegalStateException(device + " cannot be described by " + FILE, e);
        }
    }

    private static MethodHandle function(SymbolLookup driver, String name, MemoryLayout... parameters) {
        MemorySegment address =
                driver.find(name).orElseThrow(() -> new IllegalArgumentException(FILE + " has no function " + name));
        return Linker.nativeLinker().downcallHandle(address, FunctionDescriptor.of(JAVA_INT, parameters));
    }
}
