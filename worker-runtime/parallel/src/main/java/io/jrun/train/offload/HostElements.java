package io.jrun.train.offload;

import java.lang.foreign.MemorySegment;

/**
 * The elements of a flat tensor in host memory, for one transfer of a file. Used by the training thread, but for
 * {@link #onHost} and {@link #awaitCopy}.
 */
interface HostElements {
    /** The memory of all elements. Valid while this object is reachable, until {@link #copyToDevice} or {@link #release}. */
    MemorySegment onHost();

    /** Waits until a copy from the device is in host memory. */
    void awaitCopy();

    /** Whether the last copy from or to the device has ended. */
    boolean isCopied();

    /** Queues the copy to the tensor of the device, before all later work of the default stream, and gives the memory back. */
    void copyToDevice();

    /** Gives the memory back. */
    void release();
}
