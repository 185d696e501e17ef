package io.jrun.comm;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Messages between two ranks of a group. A message has a tag, a number that says what it is for; a receive takes messages of
 * one tag, from one rank or from any.
 *
 * <p>Order, as MPI has it: messages of one rank to another with one tag arrive in the order in which they were sent, and a
 * message goes to the receive that was posted first among those that fit it. A receive waits only for a message that fits
 * it. Messages that arrive before those that are waited for are kept, up to {@value #MAX_UNEXPECTED_BYTES} bytes in all;
 * what is beyond waits with its sender, and so does all that this sends after it, until it is received.
 *
 * <p>A receive states type and count; a message of another type or count is a COLLECTIVE_MISMATCH that names both. A wait for
 * a message from any source fails with PEER_LOST when all other ranks have left.
 *
 * <p>From {@link ProcessGroup#messages()}; thread-safe.
 */
public interface Messages {
    /** In place of a rank to receive from: whoever sends first. */
    int ANY_SOURCE = -1;

    /** Most bytes of messages that a rank keeps before a receive asks for them. */
    long MAX_UNEXPECTED_BYTES = 256 << 20;

    /** Sends {@code count} elements; may return before they are received, but large messages wait for the receiver. */
    void send(MemorySegment buffer, DataType type, long count, int destination, int tag);

    /** Asynchronous {@link #send}. */
    Work sendAsync(MemorySegment buffer, DataType type, long count, int destination, int tag);

    /**
     * Receives a message of {@code count} elements.
     *
     * @param source group rank, or {@link #ANY_SOURCE}
     */
    Received recv(MemorySegment buffer, DataType type, long count, int source, int tag);

    /** Asynchronous {@link #recv}; receives that are under way at the same time do not wait for each other's messages. */
    ReceiveFuture recvAsync(MemorySegment buffer, DataType type, long count, int source, int tag);

    /**
     * Sends and receives many messages at once and returns when all are done: all are posted before any is waited for, so
     * that rings and exchanges between neighbours cannot lock up, in whatever order each rank lists its part. Among equal
     * ranks and tags the list's order counts.
     */
    void exchange(List<Transfer> transfers);

    /** Asynchronous {@link #exchange}. */
    Work exchangeAsync(List<Transfer> transfers);

    /** Sends an object; see {@link ObjectCollectives}. */
    <T> void sendObject(T value, int destination, int tag, Codec<T> codec);

    /**
     * Receives an object that was sent with {@link #sendObject}; a message of elements in its place is a
     * COLLECTIVE_MISMATCH.
     *
     * @param source group rank, or {@link #ANY_SOURCE}
     * @throws CommException USAGE if the codec cannot decode the bytes
     */
    <T> T recvObject(int source, int tag, Codec<T> codec);
}
