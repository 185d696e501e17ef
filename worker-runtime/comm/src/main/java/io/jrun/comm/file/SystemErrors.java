package io.jrun.comm.file;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** The words of the C library for an errno value. Linked at the first error only. Stateless. */
public final class SystemErrors {
    /** The longest text of the C library has about 50 bytes. */
    private static final int MAX_BYTES = 256;

    private SystemErrors() {}

    /** For example {@code Read-only file system} for 30. */
    public static String words(int errno) {
        Linker linker = Linker.nativeLinker();
        MethodHandle strerror = linker.downcallHandle(
                linker.defaultLookup().find("strerror").orElseThrow(),
                FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
        try {
            return ((MemorySegment) strerror.invokeExact(errno))
                    .reinterpret(MAX_BYTES)
                    .getString(0);
        } catch (Throwable e) {
            throw new IllegalStateException("strerror takes any number", e);
        }
    }
}
