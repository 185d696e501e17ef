package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * Point-to-point transfers between the ranks of one group during one collective call. Transfers between two ranks are
 * matched in the order in which each side posted them, and must have equal lengths. Posting never blocks. Only
 * {@link #await} blocks, and it drives all posted transfers meanwhile, so that a send to one neighbour during a receive
 * from another cannot deadlock. Confined to the thread that runs the call.
 *
 * <p>Every method throws {@code CommException} when the group is poisoned, a peer is lost, the call's deadline
 * has passed, or a peer's frame belongs to another call.
 */
public interface PeerLinks {
    /** Returns the group rank of this rank. */
    int rank();

    /** Number of ranks in the group. */
    int size();

    /** Queues {@code data} for {@code peer}. The memory must stay unchanged until the transfer is done. */
    PeerTransfer send(int peer, MemorySegment data);

    /** Queues the next bytes from {@code peer} into {@code into}. The bytes must fill {@code into} exactly. */
    PeerTransfer receive(int peer, MemorySegment into);

    /** Blocks until {@code transfer} is done. */
    void await(PeerTransfer transfer);

    /**
     * Returns native memory of at least {@code bytes} bytes. All calls share the memory, so the content of earlier
     * calls is lost.
     */
    MemorySegment scratch(long bytes);

    /** Sends and receives at once, and waits for both transfers. */
    default void exchange(int to, MemorySegment data, int from, MemorySegment into) {
        PeerTransfer incoming = receive(from, into);
        PeerTransfer outgoing = send(to, data);
        await(incoming);
        await(outgoing);
    }

    /** A posted send or receive. */
    interface PeerTransfer {
        /** Whether the memory may be changed again (send) or has the data (receive). */
        boolean isDone();
    }
}
