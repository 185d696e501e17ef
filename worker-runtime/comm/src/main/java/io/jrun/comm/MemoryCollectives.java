package io.jrun.comm;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The collectives of a {@link ProcessGroup} on memory segments. {@link BufferCollectives} has the same collectives on
 * {@link Buffer}s; only that form knows the device of the memory.
 *
 * <p>A segment is heap or native memory, at least as long as the operation needs. {@code count} is a number of elements of
 * {@code type} in native byte order. A method throws {@link CommException} with USAGE, before anything is sent, if an argument
 * is unusable: the segment is too short, read-only where the operation writes, closed or confined to a thread; the count is
 * negative; the root is no rank of the group; the reduction is not defined for the type. Every other failure poisons the
 * group, see {@link ProcessGroup}.
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

    /** Replaces the root's elements by their reduction over all ranks; the other ranks' buffers stay as they are. */
    void reduce(MemorySegment buffer, DataType type, long count, ReduceOp op, int root);

    /** Asynchronous {@link #reduce}. */
    Work reduceAsync(MemorySegment buffer, DataType type, long count, ReduceOp op, int root);

    /**
     * Gives everybody every rank's {@code count} input elements, in rank order.
     *
     * @param output {@code size() * count} elements; {@code input} may be this rank's own block of it
     */
    void allGather(MemorySegment input, MemorySegment output, DataType type, long count);

    /** Asynchronous {@link #allGather}. */
    Work allGatherAsync(MemorySegment input, MemorySegment output, DataType type, long count);

    /**
     * As {@link #allGather} with {@code counts[r]} elements of rank r.
     *
     * @param counts alike on all ranks
     * @param output as many elements as there are in all; {@code input} may be this rank's own block of it
     */
    void allGatherV(MemorySegment input, MemorySegment output, DataType type, long... counts);

    /** Asynchronous {@link #allGatherV}. */
    Work allGatherVAsync(MemorySegment input, MemorySegment output, DataType type, long... counts);

    /**
     * Gives rank r the reduction over all ranks of their r-th block of {@code count} elements.
     *
     * @param input {@code size() * count} elements; {@code output} may be this rank's own block of it
     */
    void reduceScatter(MemorySegment input, MemorySegment output, DataType type, long count, ReduceOp op);

    /** Asynchronous {@link #reduceScatter}. */
    Work reduceScatterAsync(MemorySegment input, MemorySegment output, DataType type, long count, ReduceOp op);

    /**
     * As {@link #reduceScatter} with a block of {@code counts[r]} elements for rank r.
     *
     * @param counts alike on all ranks
     * @param input as many elements as there are in all; {@code output} may be this rank's own block of it
     */
    void reduceScatterV(MemorySegment input, MemorySegment output, DataType type, ReduceOp op, long... counts);

    /** Asynchronous {@link #reduceScatterV}. */
    Work reduceScatterVAsync(MemorySegment input, MemorySegment output, DataType type, ReduceOp op, long... counts);

    /**
     * Gives the root every rank's {@code count} input elements, in rank order.
     *
     * @param output {@code size() * count} elements at the root; ignored elsewhere
     */
    void gather(MemorySegment input, @Nullable MemorySegment output, DataType type, long count, int root);

    /** Asynchronous {@link #gather}. */
    Work gatherAsync(MemorySegment input, @Nullable MemorySegment output, DataType type, long count, int root);

    /**
     * As {@link #gather} with {@code counts[r]} elements of rank r.
     *
     * @param counts alike on all ranks, which tells also those that are not the root
     * @param output as many elements as there are in all at the root; ignored elsewhere
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
     * @param counts alike on all ranks
     * @param input as many elements as there are in all at the root; ignored elsewhere
     */
    void scatterV(@Nullable MemorySegment input, MemorySegment output, DataType type, int root, long... counts);

    /** Asynchronous {@link #scatterV}. */
    Work scatterVAsync(@Nullable MemorySegment input, MemorySegment output, DataType type, int root, long... counts);

    /** Gives rank r everybody's r-th block of {@code count} elements, in rank order; buffers must not overlap. */
    void allToAll(MemorySegment input, MemorySegment output, DataType type, long count);

    /** Asynchronous {@link #allToAll}. */
    Work allToAllAsync(MemorySegment input, MemorySegment output, DataType type, long count);

    /**
     * As {@link #allToAll} with blocks of any sizes; buffers must not overlap.
     *
     * @param outgoing {@code outgoing[r]} elements of the input go to rank r
     * @param incoming {@code incoming[r]} elements of the output come from rank r: what that rank has as its outgoing count
     *     for this one. A difference is a COLLECTIVE_MISMATCH that names both.
     */
    void allToAllV(MemorySegment input, long[] outgoing, MemorySegment output, long[] incoming, DataType type);

    /** Asynchronous {@link #allToAllV}. */
    Work allToAllVAsync(MemorySegment input, long[] outgoing, MemorySegment output, long[] incoming, DataType type);

    /**
     * Sends {@code count} elements to one rank, which receives with equal type and count, as a message of tag 0; see
     * {@link ProcessGroup#messages()}. May return before it has, once that rank uses the group at all; large messages wait for the
     * receiver.
     */
    void send(MemorySegment buffer, DataType type, long count, int destination);

    /** Asynchronous {@link #send}. */
    Work sendAsync(MemorySegment buffer, DataType type, long count, int destination);

    /** Receives the next message of tag 0 of {@code source}. */
    void recv(MemorySegment buffer, DataType type, long count, int source);

    /** Asynchronous {@link #recv}. */
    Work recvAsync(MemorySegment buffer, DataType type, long count, int source);
}
