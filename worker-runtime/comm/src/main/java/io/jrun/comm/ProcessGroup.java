package io.jrun.comm;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An ordered set of ranks that communicate. Every member calls the same collectives with the same arguments in the same
 * order; a difference fails on every rank with COLLECTIVE_MISMATCH, naming both calls.
 *
 * <p>Buffers are heap or native memory in native byte order, at least as large as stated; counts are elements. Collectives
 * run in call order, whether called or submitted with {@code ...Async}; messages have an order of their own, see
 * {@link Messages}.
 *
 * <p>Operations whose name ends in {@code V} give each rank a block of a size of its own: {@code counts} has one count for
 * each rank, and blocks lie one behind the other in rank order. Blocks may be empty.
 *
 * <p>Once an operation has failed with anything but USAGE, the group is poisoned: pending and later operations fail at once
 * with the same cause. Every operation ends within the group's timeout, or
 * that of {@link #withTimeout}.
 *
 * <p>Thread-safe; but two threads that call collectives on one group must agree about their order with the other ranks.
 */
public interface ProcessGroup extends AutoCloseable {
    /** This rank's number in the group, 0 to size-1. */
    int rank();

    /** Number of members. */
    int size();

    /** Unique name within the job's round: "world", or derived from the group it was split from. */
    String name();

    /** Timeout and determinism. */
    GroupOptions options();

    /** How much this group has done, and for whom this rank has waited meanwhile. Cheap; at any time. */
    GroupStats stats();

    /** The world rank of a member. */
    int worldRank(int groupRank);

    /**
     * A view of this group whose operations have another timeout each. A view is this group in everything else: its
     * operations are in one order with the group's, and closing it closes the group.
     *
     * @throws CommException USAGE if {@code timeout} is not positive
     */
    ProcessGroup withTimeout(Duration timeout);

    /**
     * A view whose reductions multiply this rank's contribution by {@code factor} before they sum it, each rank by its own:
     * NCCL's PreMulSum. The results are those of multiplying first and summing then; F16 and BF16 are multiplied in binary32
     * and rounded once. For SUM of floating point types in allReduce, reduce and reduceScatter; anything else is a USAGE
     * error, also integers, which NCCL's takes. What is not replaced by the result is copied: reduceScatter takes memory for its input.
     */
    ProcessGroup scaled(double factor);

    /**
     * A view whose reductions of F32 move and fold elements as BF16 or F16: half the bytes. Each rank's contribution is
     * rounded to {@code wire}, partial sums are computed in binary32 and rounded as in {@link ReduceOp}. The error of a SUM
     * over N ranks is at most {@code ((1 + u)^N (1 + 2^-24)^N - 1)} times the sum of the contributions' magnitudes, with
     * {@code u} = 2^-8 for BF16 and 2^-11 for F16; one factor {@code (1 + u)} more for AVG. F16 adds at most 2^-25 for each
     * rounding of a number below 2^-14, and what exceeds 65504 becomes infinite. Every rank chooses alike. For allReduce,
     * reduce and reduceScatter of F32, anything else is a USAGE error. Takes memory for the rounded elements.
     *
     * @param wire BF16 or F16
     */
    ProcessGroup compressed(DataType wire);

    /**
     * A view for small operations that must not wait for large ones: it has a queue, connections and memory of its own.
     * Its operations are ordered among themselves, and not with those of the group: all ranks call the same operations on
     * it in the same order. It fails and is closed together with the group. Memory from {@link #allocate} is registered
     * with the view that it was asked of.
     */
    ProcessGroup urgent();

    /** Operations on many small buffers as one. */
    CoalescedOperations coalesced();

    /** Messages with tags, from any source, and many at once; they have this view's timeout. */
    Messages messages();

    /** Operations on objects; they have this view's timeout. */
    ObjectCollectives objects();

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
     * {@link #messages()}. May return before it has, once that rank uses the group at all; large messages wait for the
     * receiver.
     */
    void send(MemorySegment buffer, DataType type, long count, int destination);

    /** Asynchronous {@link #send}. */
    Work sendAsync(MemorySegment buffer, DataType type, long count, int destination);

    /** Receives the next message of tag 0 of {@code source}. */
    void recv(MemorySegment buffer, DataType type, long count, int source);

    /** Asynchronous {@link #recv}. */
    Work recvAsync(MemorySegment buffer, DataType type, long count, int source);

    /** Returns when every rank has called it. */
    void barrier();

    /** Asynchronous {@link #barrier}. */
    Work barrierAsync();

    /**
     * Collective: memory that this group's transport moves with the fewest copies (over shared memory: none). Every rank
     * asks for the same size. It is zeroed, 64-byte aligned, and lives until the group is closed.
     */
    MemorySegment allocate(long bytes);

    /**
     * Collective: the group of all members that passed the same {@code color}, ordered by {@code key}, then by rank. It has
     * this group's options and must be closed by itself.
     */
    ProcessGroup split(int color, int key);

    /**
     * As {@link #split(int, int)} with other options.
     *
     * @throws CommException USAGE on every member of a new group whose members give different options of those that are alike
     *     on all; this group stays usable
     */
    ProcessGroup split(int color, int key, GroupOptions newOptions);

    /**
     * The group of {@code groupRanks}, in this order. Only these members call it, each with the same list and the same options:
     * MPI_Comm_create_group. It has this group's options and must be closed by itself. Nothing is sent.
     *
     * @param groupRanks distinct ranks of this group, this rank among them
     * @throws CommException USAGE if a rank is not of this group or named twice, or if this rank is not named
     */
    ProcessGroup newGroup(List<Integer> groupRanks);

    /** As {@link #newGroup(List)} with other options. */
    ProcessGroup newGroup(List<Integer> groupRanks, GroupOptions newOptions);

    /**
     * Poisons the group on every rank: pending and later operations fail with ABORTED and this cause.
     *
     * @throws CommException USAGE if the group is closed
     */
    void abort(String cause);

    /**
     * Gives back what the group holds, its registered memory included. Operations that are pending have five seconds to end,
     * receives half a second; then the group is poisoned, since what closes it may be a failure that the job is to hear of: await all
     * {@link Work} before. Idempotent.
     */
    @Override
    void close();
}
