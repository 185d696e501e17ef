package io.jrun.comm;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;

/**
 * An ordered set of ranks that communicate. Every member calls the same collectives with the same arguments in the same
 * order; a difference fails on every rank with COLLECTIVE_MISMATCH, naming both calls.
 *
 * <p>Each collective has a form for {@link Buffer}s and one for memory segments; both are the same operation to the other
 * ranks. Collectives run in call order, whether called or submitted with {@code ...Async}; messages have an order of their
 * own, see {@link Messages}.
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
public interface ProcessGroup extends BufferCollectives, AutoCloseable {
    /** Number of this rank in the group, 0 to size-1. */
    @Override
    int groupRank();

    /** Number of members. */
    @Override
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
