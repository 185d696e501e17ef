package io.jrun.train.gloo;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.function.Supplier;

/** Keeps output of native code away from this process's stdout: libtorch's Gloo prints a line for each connection. */
final class NativeStdout {
    private static final int STDOUT = 1;
    private static final int STDERR = 2;
    private static final MethodHandle DUP =
            handle("dup", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    private static final MethodHandle DUP2 =
            handle("dup2", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    private static final MethodHandle CLOSE =
            handle("close", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));

    private static int inside;
    private static int saved;

    private NativeStdout() {}

    /**
     * Runs {@code action} while stdout of the whole process goes to stderr. Several threads may call the method at
     * once: the first call changes stdout, and the end of the last call restores stdout.
     */
    static <T> T toStderr(Supplier<T> action) {
        enter();
        try {
            return action.get();
        } finally {
            leave();
        }
    }

    private static synchronized void enter() {
        if (inside++ > 0) {
            return;
        }
        System.out.flush();
        saved = call(DUP, STDOUT);
        if (saved >= 0) {
            int _ = call(DUP2, STDERR, STDOUT);
        }
    }

    private static synchronized void leave() {
        if (--inside > 0 || saved < 0) {
            return;
        }
        int _ = call(DUP2, saved, STDOUT);
        int _ = call(CLOSE, saved);
    }

    private static int call(MethodHandle function, Object... arguments) {
        try {
            return (int) function.invokeWithArguments(arguments);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static MethodHandle handle(String name, FunctionDescriptor type) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type);
    }
}
