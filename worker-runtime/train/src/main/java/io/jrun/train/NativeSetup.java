package io.jrun.train;

import io.jrun.comm.WorkerSetup;
import java.io.UncheckedIOException;

/** Fills the cache of native libraries before a worker's program may touch them through classes that do not know of it. */
public final class NativeSetup implements WorkerSetup {
    @Override
    public void prepare() {
        try {
            Libtorch.prepare();
        } catch (UncheckedIOException e) {
            // The program may not need libtorch at all; if it does, it fails there.
            System.err.println("jrun: " + e.getMessage());
        }
    }
}
