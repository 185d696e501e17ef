package io.jrun.launcher.process;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Ends this process at once. */
public final class FastExit {
    /** Made when first needed: by {@link Prewarm}, or else at the end. */
    private static final class Native {
        private static final Linker LINKER = Linker.nativeLinker();

        static final MethodHandle EXIT = LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow("_exit"), FunctionDescriptor.ofVoid(ValueLayout.JAVA_INT));
    }

    private FastExit() {}

    /**
     * Flushes stdout and stderr and ends the process by {@code _exit(2)}. HotSpot's own exit waits up to 300 ms while a
     * Java thread sits in native code (epoll, accept, waitpid), which a launcher's threads do. Shutdown hooks do not run.
     */
    public static void exit(int code) {
        System.out.flush();
        System.err.flush();
        try {
            Native.EXIT.invokeExact(code);
        } catch (Throwable e) {
            // No native access: end the slow way.
            Runtime.getRuntime().halt(code);
        }
    }

    /** Makes the handle of {@code _exit}, which takes some 15 ms, before it is needed. */
    static void prepare() {
        var _ = Native.EXIT.type();
    }
}
