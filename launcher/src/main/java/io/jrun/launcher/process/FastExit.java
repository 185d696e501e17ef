package io.jrun.launcher.process;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Ends this process at once. */
public final class FastExit {
    private FastExit() {}

    /**
     * Flushes stdout and stderr and ends the process by {@code _exit(2)}. HotSpot's own exit waits up to 300 ms while a
     * Java thread sits in native code (epoll, accept, waitpid), which a launcher's threads do. Shutdown hooks do not run.
     */
    public static void exit(int code) {
        System.out.flush();
        System.err.flush();
        try {
            prepare().invokeExact(code);
        } catch (Throwable e) {
            // No native access: end the slow way.
            Runtime.getRuntime().halt(code);
        }
    }

    /** The handle of {@code _exit}. */
    public static MethodHandle prepare() {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().findOrThrow("_exit"), FunctionDescriptor.ofVoid(ValueLayout.JAVA_INT));
    }
}
