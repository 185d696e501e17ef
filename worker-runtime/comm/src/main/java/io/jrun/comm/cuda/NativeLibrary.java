package io.jrun.comm.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** A shared library whose functions return error codes. Immutable. */
public final class NativeLibrary {
    private final String file;
    private final SymbolLookup symbols;

    private NativeLibrary(String file, SymbolLookup symbols) {
        this.file = file;
        this.symbols = symbols;
    }

    /** The first of {@code files} in the folders of CUDA's libraries, or that the dynamic linker finds elsewhere. */
    public static Optional<NativeLibrary> open(List<String> files) {
        CudaLibraries libraries = CudaLibraries.here();
        for (String file : files) {
            try {
                String found = libraries.find(file).map(Path::toString).orElse(file);
                return Optional.of(new NativeLibrary(file, SymbolLookup.libraryLookup(found, Arena.global())));
            } catch (IllegalArgumentException notThere) {
                // The dynamic linker does not find this file: try the next file.
            }
        }
        return Optional.empty();
    }

    /**
     * A function.
     *
     * @throws MissingLibraryException if this version of the library lacks the function
     */
    public MethodHandle function(String name, MemoryLayout... arguments) {
        return function(name, FunctionDescriptor.of(JAVA_INT, arguments));
    }

    /** A function that returns something else than an error code. Throws like {@link #function(String, MemoryLayout...)}. */
    public MethodHandle function(String name, FunctionDescriptor form, Linker.Option... options) {
        return Linker.nativeLinker()
                .downcallHandle(
                        symbols.find(name)
                                .orElseThrow(() -> new MissingLibraryException(
                                        file + " has no function " + name + ". Install a newer version")),
                        form,
                        options);
    }

    /** Returns what a call of a {@link #function} has thrown. Native functions throw no checked exceptions. */
    public static RuntimeException unchecked(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        return failure instanceof RuntimeException exception ? exception : new IllegalStateException(failure);
    }
}
