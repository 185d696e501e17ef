package io.jrun.train;

import io.jrun.comm.WorkerSetup;
import java.io.UncheckedIOException;

/** Fills the cache of native libraries before the program of a worker uses them through other classes. */
public final class NativeSetup implements WorkerSetup {
    @Override
    public void prepare() {
        try {
            Libtorch.prepare();
        } catch (UncheckedIOException e) {
            // The program may not need libtorch. If the program needs libtorch, the load fails with the same message.
            System.err.println("jrun: " + e.getMessage());
        } catch (UnsatisfiedLinkError e) { // as in an image without libstdc++
            Throwable cause = e.getCause() == null ? e : e.getCause();
            System.err.println("jrun: programs that use libtorch cannot run here: " + cause.getMessage());
        }
    }
}
