package io.jrun.comm.backend;

import java.util.Optional;

/**
 * A backend besides jrun's own. {@link java.util.ServiceLoader} finds the backend when a group names it
 * ({@code --backend}, JRUN_BACKEND, {@code GroupOptions.withBackend}). Has a public constructor without arguments that
 * loads nothing.
 *
 * <p>Such a backend runs the protocol of another library. The backend need not compare calls, and need not support
 * blocks of different sizes: {@link ForeignBackend} does both.
 */
public interface BackendProvider {
    /** Returns the name by which users choose the backend; lower case. */
    String name();

    /**
     * Returns the reason why no group of this process can use the backend, and the remedy: a sentence without its full
     * stop, for messages. Empty if the backend can be used. May load the library.
     */
    Optional<String> unavailableReason();

    /**
     * Whether the backend is for memory of devices other than the CPU. The backend then runs operations of
     * {@link Backend#onDevice} only, and jrun's own data plane runs operations on host memory.
     */
    default boolean usesDevices() {
        return false;
    }

    /** Makes the factory of this process's world. Called once, and only if there is no {@link #unavailableReason}. */
    BackendFactory create(WorldContext world, GroupRendezvous rendezvous);
}
