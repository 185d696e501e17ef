package io.jrun.comm.mpi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * The functions and constants of libmpi. Errors are returned as codes, because the communicators in use return them.
 * Thread-safe.
 */
final class MpiLibrary {
    static final String FILE = "libmpi.so.40";
    static final MemorySegment IN_PLACE = MemorySegment.ofAddress(1);
    static final int THREAD_MULTIPLE = 3;

    private static final int RTLD_NOW_GLOBAL = 0x102;
    private static final int MAX_ERROR_STRING = 256;

    private final Linker linker = Linker.nativeLinker();
    private final SymbolLookup symbols;
    private final MethodHandle errorString;

    /**
     * Opens the library. MPI's plugins look up its symbols in the whole process, so the library is opened globally
     * first.
     *
     * @throws IllegalArgumentException if the library is not installed
     */
    MpiLibrary() {
        MethodHandle dlopen = linker.downcallHandle(
                linker.defaultLookup().findOrThrow("dlopen"), FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment _ = (MemorySegment) dlopen.invokeExact(arena.allocateFrom(FILE), RTLD_NOW_GLOBAL);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
        this.symbols = SymbolLookup.libraryLookup(FILE, Arena.global());
        this.errorString = function("MPI_Error_string", JAVA_INT, ADDRESS, ADDRESS);
    }

    /** Returns a function that returns an error code. */
    MethodHandle function(String name, MemoryLayout... arguments) {
        return linker.downcallHandle(symbols.findOrThrow(name), FunctionDescriptor.of(JAVA_INT, arguments));
    }

    /** Returns a predefined handle, such as {@code ompi_mpi_comm_world}. */
    MemorySegment constant(String name) {
        return symbols.findOrThrow(name);
    }

    /**
     * Throws if {@code code} is an error.
     *
     * @param what name of the called function, for the message
     */
    void check(int code, String what) {
        if (code != 0) {
            throw new CommException(ErrorCode.SYSTEM, what + " failed in MPI: " + text(code));
        }
    }

    private String text(int code) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(MAX_ERROR_STRING);
            int _ = (int) errorString.invokeExact(code, text, arena.allocate(JAVA_INT));
            return text.getString(0);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
