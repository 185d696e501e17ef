package io.jrun.launcher.process;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Ends this process at once, without HotSpot's delay. */
public final class FastExit {
    /** Initialised at the first use: by {@link Prewarm}, or else at the end of the process. */
    private static final class Native {
        private static final Linker LINKER = Linker.nativeLinker();

        static final MethodHandle EXIT = LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow("_exit"), FunctionDescriptor.ofVoid(ValueLayout.JAVA_INT));
    }

    private FastExit() {}

    /**
     * Flushes stdout and stderr and ends the process by {@code _exit(2)}. HotSpot's own exit waits up to 300 ms while a
     * Java thread is in native code (epoll, accept, waitpid), as threads of the launcher are. Shutdown hooks do not
     * run.
     */
    public static void exit(int code) {
        System.out.flush();
        System.err.flush();
        try {
            Native.EXIT.invokeExact(code);
        } catch (Throwable e) {
            // Without native access: use the slow exit.
            Runtime.getRuntime().halt(code);
        }
    }

    /**
     * Ends the process by HotSpot's own exit, for a command that started no thread. Such a command needs no handle of
     * {@code _exit}. Shutdown hooks do not run.
     */
    public static void exitWithoutThreads(int code) {
        Runtime.getRuntime().halt(code);
    }

    /** Makes the handle of {@code _exit} in advance, which takes about 15 ms. */
    static void prepare() {
        var _ = Native.EXIT.type();
    }
}
