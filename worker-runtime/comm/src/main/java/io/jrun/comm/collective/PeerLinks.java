package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * Point-to-point transfers between the ranks of one group, during one collective call. Transfers between two ranks are
 * matched in the order in which each side posted them, and must agree in length. Posting never blocks; only
 * {@link #await} does, and it drives every posted transfer meanwhile, so that sending to one neighbour while receiving
 * from another cannot deadlock. Confined to the thread that runs the call.
 *
 * <p>Every method throws {@code CommException} when the group is poisoned, a peer is lost, the call's deadline
 * has passed, or a peer's frame belongs to another call.
 */
public interface PeerLinks {
    /** This rank, counted inside the group. */
    int rank();

    /** Number of ranks in the group. */
    int size();

    /** Queues {@code data} for {@code peer}; the memory must stay unchanged until the transfer is done. */
    Transfer send(int peer, MemorySegment data);

    /** Queues the next bytes from {@code peer} into {@code into}, which they must fill exactly. */
    Transfer receive(int peer, MemorySegment into);

    /** Blocks until {@code transfer} is done. */
    void await(Transfer transfer);

    /** Native memory of at least {@code bytes} bytes, the same for every call: what an earlier call put there is void. */
    MemorySegment scratch(long bytes);

    /** Sends and receives at once and waits for both. */
    default void exchange(int to, MemorySegment data, int from, MemorySegment into) {
        Transfer incoming = receive(from, into);
        Transfer outgoing = send(to, data);
        await(incoming);
        await(outgoing);
    }

    /** A posted send or receive. */
    interface Transfer {
        /** Whether the memory may be used again (send) or holds the data (receive). */
        boolean isDone();
    }
}
