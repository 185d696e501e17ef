package io.jrun.bench;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.function.Supplier;

/** Keeps this process's stdout free of what native code prints there: libtorch's Gloo announces each connection. */
final class NativeStdout {
    private static final int STDOUT = 1;
    private static final int STDERR = 2;
    private static final MethodHandle DUP =
            handle("dup", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    private static final MethodHandle DUP2 =
            handle("dup2", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    private static final MethodHandle CLOSE =
            handle("close", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));

    private NativeStdout() {}

    /** Runs {@code action} with stdout sent to stderr; the whole process sees it, so nothing else may print meanwhile. */
    static <T> T toStderr(Supplier<T> action) {
        System.out.flush();
        try {
            int saved = (int) DUP.invokeExact(STDOUT);
            if (saved < 0 || (int) DUP2.invokeExact(STDERR, STDOUT) < 0) {
                return action.get();
            }
            try {
                return action.get();
            } finally {
                int _ = (int) DUP2.invokeExact(saved, STDOUT);
                int _ = (int) CLOSE.invokeExact(saved);
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("dup failed", e);
        }
    }

    private static MethodHandle handle(String name, FunctionDescriptor type) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type);
    }
}
