package io.jrun.comm.group;

import io.jrun.comm.backend.BackendProvider;

/** Says on stdout which backends a process with this class path can use; {@code jrun doctor} starts it. */
public final class BackendCheck {
    private BackendCheck() {}

    /** Prints a line for each backend: its name, a tab, and what is in the way, nothing if it can be used. */
    public static void main(String[] args) {
        for (BackendProvider provider : Backends.all()) {
            System.out.println(provider.name() + "\t" + provider.obstacle().orElse(""));
        }
    }
}
