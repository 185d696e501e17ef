package io.jrun.comm;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The collectives of a {@link ProcessGroup} on memory segments. {@link BufferCollectives} has the same collectives on
 * {@link Buffer}s. Only the form with buffers knows the device of the memory.
 *
 * <p>A segment is heap or native memory with room for at least the elements of the operation. {@code count} is a number
 * of elements of {@code type} in native byte order. A method throws {@link CommException} with USAGE before anything is
 * sent, if an argument is unusable: the segment is too short, closed, confined to a thread, or read-only for an output;
 * the count is negative; the root is not a rank of the group; the reduction is not defined for the type. Every other
 * failure poisons the group, see {@link ProcessGroup}.
 */
public interface MemoryCollectives {
    /** Copies the root's first {@code count} elements to every rank's buffer. */
    void broadcast(MemorySegment buffer, DataType type, long count, int root);

    /** Asynchronous {@link #broadcast}. */
    Work broadcastAsync(MemorySegment buffer, DataType type, long count, int root);

    /** Replaces every rank's elements by their reduction over all ranks; the results have equal bits on all ranks. */
    void allReduce(MemorySegment buffer, DataType type, long count, ReduceOp op);

    /** Asynchronous {@link #allReduce}. */
    Work allReduceAsync(MemorySegment buffer, DataType type, long count, ReduceOp op);

    /** Replaces the root's elements by their reduction over all ranks. The buffers of the other ranks do not change. */
    void reduce(MemorySegment buffer, DataType type, long count, ReduceOp op, int root);

    /** Asynchronous {@link #reduce}. */
    Work reduceAsync(MemorySegment buffer, DataType type, long count, ReduceOp op, int root);

    /**
     * Gives every rank the {@code count} input elements of all ranks, in rank order.
     *
     * @param output {@code size() * count} elements; {@code input} may be this rank's own block of the output
     */
    void allGather(MemorySegment input, MemorySegment output, DataType type, long count);

    /** Asynchronous {@link #allGather}. */
    Work allGatherAsync(MemorySegment input, MemorySegment output, DataType type, long count);

    /**
     * As {@link #allGather} with {@code counts[r]} elements of rank r.
     *
     * @param counts equal on all ranks
     * @param output as many elements as all counts together; {@code input} may be this rank's own block of the output
     */
    void allGatherV(MemorySegment input, MemorySegment output, DataType type, long... counts);

    /** Asynchronous {@link #allGatherV}. */
    Work allGatherVAsync(MemorySegment input, MemorySegment output, DataType type, long... counts);

    /**
     * Gives rank r the reduction over all ranks of their r-th block of {@code count} elements.
     *
     * @param input {@code size() * count} elements; {@code output} may be this rank's own block of the input
     */
    void reduceScatter(MemorySegment input, MemorySegment output, DataType type, long count, ReduceOp op);

    /** Asynchronous {@link #reduceScatter}. */
    Work reduceScatterAsync(MemorySegment input, MemorySegment output, DataType type, long count, ReduceOp op);

    /**
     * As {@link #reduceScatter} with a block of {@code counts[r]} elements for rank r.
     *
     * @param counts equal on all ranks
     * @param input as many elements as all counts together; {@code output} may be this rank's own block of the input
     */
    void reduceScatterV(MemorySegment input, MemorySegment output, DataType type, ReduceOp op, long... counts);

    /** Asynchronous {@link #reduceScatterV}. */
    Work reduceScatterVAsync(MemorySegment input, MemorySegment output, DataType type, ReduceOp op, long... counts);

    /**
     * Gives the root the {@code count} input elements of all ranks, in rank order.
     *
     * @param output {@code size() * count} elements at the root; ignored elsewhere
     */
    void gather(MemorySegment input, @Nullable MemorySegment output, DataType type, long count, int root);

    /** Asynchronous {@link #gather}. */
    Work gatherAsync(MemorySegment input, @Nullable MemorySegment output, DataType type, long count, int root);

    /**
     * As {@link #gather} with {@code counts[r]} elements of rank r.
     *
     * @param counts equal on all ranks, the root and the others
     * @param output as many elements as all counts together at the root; ignored elsewhere
     */
    void gatherV(MemorySegment input, @Nullable MemorySegment output, DataType type, int root, long... counts);

    /** Asynchronous {@link #gatherV}. */
    Work gatherVAsync(MemorySegment input, @Nullable MemorySegment output, DataType type, int root, long... counts);

    /**
     * Gives rank r the r-th block of {@code count} elements of the root's input.
     *
     * @param input {@code size() * count} elements at the root; ignored elsewhere
     */
    void scatter(@Nullable MemorySegment input, MemorySegment output, DataType type, long count, int root);

    /** Asynchronous {@link #scatter}. */
    Work scatterAsync(@Nullable MemorySegment input, MemorySegment output, DataType type, long count, int root);

    /**
     * As {@link #scatter} with a block of {@code counts[r]} elements for rank r.
     *
     * @param counts equal on all ranks
     * @param input as many elements as all counts together at the root; ignored elsewhere
     */
    void scatterV(@Nullable MemorySegment input, MemorySegment output, DataType type, int root, long... counts);

    /** Asynchronous {@link #scatterV}. */
    Work scatterVAsync(@Nullable MemorySegment input, MemorySegment output, DataType type, int root, long... counts);

    /**
     * Gives rank r the r-th block of {@code count} elements of every rank, in rank order. The buffers must not overlap.
     */
    void allToAll(MemorySegment input, MemorySegment output, DataType type, long count);

    /** Asynchronous {@link #allToAll}. */
    Work allToAllAsync(MemorySegment input, MemorySegment output, DataType type, long count);

    /**
     * As {@link #allToAll} with blocks of any sizes. The buffers must not overlap.
     *
     * @param outgoing {@code outgoing[r]} elements of the input go to rank r
     * @param incoming {@code incoming[r]} elements of the output come from rank r: the outgoing count of rank r for
     *     this rank. A difference is a COLLECTIVE_MISMATCH that names both counts.
     */
    void allToAllV(MemorySegment input, long[] outgoing, MemorySegment output, long[] incoming, DataType type);

    /** Asynchronous {@link #allToAllV}. */
    Work allToAllVAsync(MemorySegment input, long[] outgoing, MemorySegment output, long[] incoming, DataType type);

    /**
     * Sends {@code count} elements to one rank as a message of tag 0, see {@link ProcessGroup#messages()}. The receiver
     * passes equal type and count. The method may return before the receiver has the message, after the receiver has
     * begun to use the group. A large message waits for the receiver.
     */
    void send(MemorySegment buffer, DataType type, long count, int destination);

    /** Asynchronous {@link #send}. */
    Work sendAsync(MemorySegment buffer, DataType type, long count, int destination);

    /** Receives the next message of tag 0 from {@code source}. */
    void recv(MemorySegment buffer, DataType type, long count, int source);

    /** Asynchronous {@link #recv}. */
    Work recvAsync(MemorySegment buffer, DataType type, long count, int source);
}
