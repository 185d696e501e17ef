package io.jrun.comm;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Point-to-point messages of a group. A message has a tag: a number for the purpose of the message. A receive takes
 * messages of one tag, from one rank or from any rank.
 *
 * <p>The order is the order of MPI. Messages from one rank to another rank with one tag arrive in the order of the
 * sends. A message goes to the first posted receive that matches the message. A receive waits only for a message that
 * matches the receive. Earlier messages without a receive are kept, up to {@value #MAX_UNEXPECTED_BYTES} bytes in
 * total. A message beyond this limit, and every later message of the same sender to this rank, waits at the sender
 * until a receive takes the message.
 *
 * <p>A receive states type and count. A message of another type or count is a COLLECTIVE_MISMATCH that names both. A
 * receive from any source fails with PEER_LOST when all other ranks have left.
 *
 * <p>An instance comes from {@link ProcessGroup#messages()}. Thread-safe.
 */
public interface Messages {
    /** In place of a source rank: the receive takes the first message from any rank. */
    int ANY_SOURCE = -1;

    /** The limit in bytes of messages that a rank keeps before receives match them. */
    long MAX_UNEXPECTED_BYTES = 256 << 20;

    /**
     * Sends {@code count} elements. The method may return before the receiver has them. A large message waits for the
     * receiver.
     */
    void send(MemorySegment buffer, DataType type, long count, int destination, int tag);

    /** Asynchronous {@link #send}. */
    Work sendAsync(MemorySegment buffer, DataType type, long count, int destination, int tag);

    /**
     * Sends the elements of a buffer. From device memory: the message follows the work that the default stream of the
     * device has now, and later work of this stream may change the buffer. The method waits for the device only if many
     * messages are under way.
     */
    default void send(Buffer buffer, int destination, int tag) {
        send(memory("send", buffer), buffer.type(), buffer.count(), destination, tag);
    }

    /** Asynchronous {@link #send(Buffer, int, int)}. */
    default Work sendAsync(Buffer buffer, int destination, int tag) {
        return sendAsync(memory("send", buffer), buffer.type(), buffer.count(), destination, tag);
    }

    /**
     * Returns the memory of a buffer for an operation of this group.
     *
     * @param operation name of the operation, for the message
     * @throws CommException USAGE if the group cannot use the device of the buffer
     */
    MemorySegment memory(String operation, Buffer buffer);

    /**
     * Receives a message of {@code count} elements.
     *
     * @param source group rank, or {@link #ANY_SOURCE}
     */
    Received recv(MemorySegment buffer, DataType type, long count, int source, int tag);

    /** Asynchronous {@link #recv}. Concurrent receives do not wait for each other's messages. */
    ReceiveFuture recvAsync(MemorySegment buffer, DataType type, long count, int source, int tag);

    /**
     * Receives the elements of a buffer. Into device memory: the host waits for the message, and the default stream of
     * the device waits for the copy to the device. Sender and receiver may use memory of different kinds.
     */
    default Received recv(Buffer buffer, int source, int tag) {
        return recv(memory("recv", buffer), buffer.type(), buffer.count(), source, tag);
    }

    /** Asynchronous {@link #recv(Buffer, int, int)}. */
    default ReceiveFuture recvAsync(Buffer buffer, int source, int tag) {
        return recvAsync(memory("recv", buffer), buffer.type(), buffer.count(), source, tag);
    }

    /**
     * Sends and receives many messages at once, and returns when all are done. The method posts every transfer before
     * the method waits for one. Ring and neighbour exchanges therefore cannot deadlock, in any order of the list. For
     * equal ranks and tags, the order of the list is the order of the messages.
     */
    void exchange(List<Transfer> transfers);

    /** Asynchronous {@link #exchange}. */
    Work exchangeAsync(List<Transfer> transfers);

    /** Sends an object, see {@link ObjectCollectives}. */
    <T> void sendObject(T value, int destination, int tag, Codec<T> codec);

    /**
     * Receives an object that {@link #sendObject} sent. A message of elements in place of the object is a
     * COLLECTIVE_MISMATCH.
     *
     * @param source group rank, or {@link #ANY_SOURCE}
     * @throws CommException USAGE if the codec cannot decode the bytes
     */
    <T> T recvObject(int source, int tag, Codec<T> codec);
}
