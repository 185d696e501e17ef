package io.jrun.agent.nvml;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * The functions of libnvidia-ml.so.1. Each call returns NVML's code. A function that an older driver lacks returns
 * {@link #MISSING}. Source: nvml.h of CUDA 12 and 13. Thread-safe.
 */
final class NvmlLibrary {
    static final int OK = 0;
    static final int MISSING = 13; // NVML_ERROR_FUNCTION_NOT_FOUND

    private static final int LONGEST_MESSAGE = 256;
    private static final Linker LINKER = Linker.nativeLinker();

    private final SymbolLookup symbols;
    private final ConcurrentMap<String, Optional<MethodHandle>> functions = new ConcurrentHashMap<>();

    private NvmlLibrary(SymbolLookup symbols) {
        this.symbols = symbols;
    }

    /**
     * Opens the library.
     *
     * @param name a name that the dynamic linker finds, or an absolute path
     */
    static NvmlLibrary open(String name) throws NvmlException {
        try {
            return new NvmlLibrary(SymbolLookup.libraryLookup(name, Arena.global()));
        } catch (IllegalArgumentException e) {
            throw new NvmlException(name + " cannot be opened; it comes with NVIDIA's driver (in a container:"
                    + " NVIDIA_DRIVER_CAPABILITIES with utility)");
        }
    }

    /** Calls a function of one handle: {@code nvmlReturn_t f(nvmlDevice_t, void*)}. */
    int get(String function, MemorySegment device, MemorySegment result) {
        return call(function, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS), device, result);
    }

    int text(String function, MemorySegment device, MemorySegment buffer) {
        return call(function, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT), device, buffer, (int)
                buffer.byteSize());
    }

    int systemText(String function, MemorySegment buffer) {
        return call(function, FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT), buffer, (int) buffer.byteSize());
    }

    /** Calls a function with two pointers: {@code nvmlReturn_t f(nvmlDevice_t, void*, void*)}. */
    int getTwo(String function, MemorySegment device, MemorySegment result, MemorySegment more) {
        return call(function, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS), device, result, more);
    }

    /** Calls a function with a number: {@code nvmlReturn_t f(nvmlDevice_t, int, void*)}. */
    int getAt(String function, MemorySegment device, int number, MemorySegment result) {
        return call(function, FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, ADDRESS), device, number, result);
    }

    /** Calls {@code nvmlReturn_t f(nvmlDevice_t, nvmlDevice_t, int, void*)}. */
    int getBetween(String function, MemorySegment device, MemorySegment other, int number, MemorySegment result) {
        return call(
                function,
                FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT, ADDRESS),
                device,
                other,
                number,
                result);
    }

    int init() {
        return call("nvmlInit_v2", FunctionDescriptor.of(JAVA_INT));
    }

    int shutdown() {
        return call("nvmlShutdown", FunctionDescriptor.of(JAVA_INT));
    }

    int count(MemorySegment result) {
        return call("nvmlDeviceGetCount_v2", FunctionDescriptor.of(JAVA_INT, ADDRESS), result);
    }

    int handle(int index, MemorySegment result) {
        return call("nvmlDeviceGetHandleByIndex_v2", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS), index, result);
    }

    /** NVML's text for a code. */
    String message(int code) {
        Optional<MethodHandle> function = function(
                "nvmlErrorString",
                FunctionDescriptor.of(
                        ADDRESS.withTargetLayout(MemoryLayout.sequenceLayout(LONGEST_MESSAGE, JAVA_BYTE)), JAVA_INT));
        if (function.isEmpty()) {
            return "error " + code;
        }
        try {
            return ((MemorySegment) function.get().invoke(code)).getString(0) + " (error " + code + ")";
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private int call(String name, FunctionDescriptor descriptor, Object... arguments) {
        Optional<MethodHandle> function = function(name, descriptor);
        if (function.isEmpty()) {
            return MISSING;
        }
        try {
            return (int) function.get().invokeWithArguments(arguments);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private Optional<MethodHandle> function(String name, FunctionDescriptor descriptor) {
        return functions.computeIfAbsent(
                name, _ -> symbols.find(name).map(address -> LINKER.downcallHandle(address, descriptor)));
    }
}
