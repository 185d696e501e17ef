package io.jrun.comm.group;

import io.jrun.comm.backend.BackendProvider;

/** Prints the backends that a process with this class path can use. {@code jrun doctor} starts this program. */
public final class BackendCheck {
    private BackendCheck() {}

    /**
     * Prints a line for each backend: its name, a tab, and the reason why the backend cannot be used, empty if it can.
     */
    public static void main(String[] args) {
        for (BackendProvider provider : Backends.all()) {
            System.out.println(
                    provider.name() + "\t" + provider.unavailableReason().orElse(""));
        }
    }
}
