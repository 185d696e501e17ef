package io.jrun.comm.backend;

import java.util.Optional;

/**
 * A backend beside jrun's own, found with {@link java.util.ServiceLoader} when a group asks for it by name ({@code --backend},
 * JRUN_BACKEND, {@code GroupOptions.withBackend}). Has a public constructor without arguments that loads nothing.
 *
 * <p>Such a backend runs another library's protocol: it need not compare calls, nor have blocks of different sizes, which
 * {@link ForeignBackend} does for it.
 */
public interface BackendProvider {
    /** The name that users choose it by; lower case. */
    String name();

    /**
     * Why no group of this process can use it, and what to do about that: a sentence without an end, for messages. Empty if
     * it can be used. May load the library.
     */
    Optional<String> obstacle();

    /**
     * Whether the backend uses memory of devices other than the CPU. A group of one rank then runs on this backend too; on any
     * other backend a group of one copies host memory.
     */
    default boolean usesDevices() {
        return false;
    }

    /** Makes the factory for this process's world; called once, and only where there is no {@link #obstacle}. */
    BackendFactory create(WorldContext world, GroupRendezvous rendezvous);
}
