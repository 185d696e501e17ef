package io.jrun.comm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * An ordered set of ranks that communicate. Every member calls the same collectives with the same arguments in the same
 * order. A difference fails on every rank with COLLECTIVE_MISMATCH. The error names both calls.
 *
 * <p>Each collective has a form for {@link Buffer}s and a form for memory segments. One rank may use the first form and
 * another rank the second form. Collectives run in call order, both blocking and {@code ...Async} calls. Messages have
 * an order of their own, see {@link Messages}.
 *
 * <p>Operations whose name ends in {@code V} have a separate block size for each rank: {@code counts} has one count for
 * each rank. The blocks are contiguous in rank order. A block may be empty.
 *
 * <p>An operation that fails with any code but USAGE poisons the group: pending and later operations fail at once with
 * the same cause. Every operation ends within the timeout of the group, or the timeout of {@link #withTimeout}.
 *
 * <p>Thread-safe. If several threads call collectives on one group, the program must ensure the same order on all
 * ranks.
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

    /** The options of the group. */
    GroupOptions options();

    /** Statistics of this group's collectives, with the waits for other ranks. Cheap; callable at any time. */
    GroupStats stats();

    /** The world rank of a member. */
    int worldRank(int groupRank);

    /**
     * How a member has left the job, such as "ended by SIGKILL"; empty while its process runs, and until this rank
     * has received the notice. The method also works after a failure of the group.
     */
    Optional<String> departure(int groupRank);

    /**
     * Returns a view of this group with another timeout for each operation. A view shares everything else with the
     * group: the operations of both have one order, and closing the view closes the group.
     *
     * @throws CommException USAGE if {@code timeout} is not positive
     */
    ProcessGroup withTimeout(Duration timeout);

    /**
     * Returns a view whose reductions multiply this rank's contribution by {@code factor} before the sum (NCCL:
     * PreMulSum). Each rank has its own factor. The results equal a multiplication followed by a sum; F16 and BF16 are
     * multiplied in binary32 and rounded once. The view takes SUM of floating point types in allReduce, reduce and
     * reduceScatter. Every other call is a USAGE error, also a call with integers, which NCCL accepts. The view copies
     * input that the result does not replace: reduceScatter allocates memory for its input.
     */
    ProcessGroup scaled(double factor);

    /**
     * Returns a view whose reductions of F32 send and reduce elements as BF16 or F16, which halves the bytes. Each
     * rank's contribution is rounded to {@code wire}. Partial sums are computed in binary32 and rounded as
     * {@link ReduceOp} says. The error of a SUM over N ranks is at most {@code ((1 + u)^N (1 + 2^-24)^N - 1)} times the
     * sum of the contributions' magnitudes, with {@code u} = 2^-8 for BF16 and 2^-11 for F16; AVG has one more factor
     * {@code (1 + u)}. F16 adds at most 2^-25 for each rounding of a number below 2^-14. F16 turns magnitudes above
     * 65504 into infinity. Every rank chooses the same type. The view takes allReduce, reduce and reduceScatter of F32;
     * every other call is a USAGE error. The view allocates memory for the rounded elements.
     *
     * @param wire BF16 or F16
     */
    ProcessGroup compressed(DataType wire);

    /**
     * Returns a view for small operations that must not wait for large operations. The view has a queue, connections
     * and memory of its own. The operations of the view are ordered among themselves, and not relative to the
     * operations of the group. All ranks call the same operations on the view in the same order. The view fails and
     * closes together with the group. Memory of {@link #allocate} is registered with the view whose method was called.
     */
    ProcessGroup urgent();

    /** Operations on many small buffers as one. */
    CoalescedOperations coalesced();

    /** Messages with tags, from any source, and several at once. The messages have this view's timeout. */
    Messages messages();

    /** Operations on objects. The operations have this view's timeout. */
    ObjectCollectives objects();

    /** Returns when every rank has called the method. */
    void barrier();

    /** Asynchronous {@link #barrier}. */
    Work barrierAsync();

    /**
     * Collective. Allocates memory that this group's transport moves with the fewest copies (over shared memory: none).
     * Every rank passes the same size. The memory is zeroed and 64-byte aligned, and stays valid until the group is
     * closed.
     */
    MemorySegment allocate(long bytes);

    /**
     * Collective. Allocates memory of this rank that all members read and write, and that outlives the group: a member
     * keeps the memory of another member whose process has ended. The ranks may pass different sizes. The memory is
     * zeroed and 64-byte aligned. It has no name in /dev/shm any more when the method returns.
     *
     * @param bytes bytes of this rank, 0 or more
     * @param arena a shared arena: the memory is valid on this rank until the arena is closed
     * @return the memory of each member by group rank. Empty on all ranks if the members have no common memory: if they
     *     are on several nodes, if the transport is not shared memory, or if /dev/shm has too little room
     * @throws CommException USAGE for a negative size or a closed arena; otherwise as {@link #allReduce}
     */
    Optional<List<MemorySegment>> allocateShared(long bytes, Arena arena);

    /**
     * Collective. Returns the group of all members with the same {@code color}, ordered by {@code key}, then by rank.
     * The new group has this group's options. The program must close the new group separately.
     */
    ProcessGroup split(int color, int key);

    /**
     * As {@link #split(int, int)} with other options.
     *
     * @throws CommException USAGE on every member of a new group if its members pass different values of an option that
     *     must be equal; this group stays usable
     */
    ProcessGroup split(int color, int key, GroupOptions newOptions);

    /**
     * Returns the group of {@code groupRanks}, in this order. Only these members call the method, each with the same
     * list and the same options (MPI_Comm_create_group). The new group has this group's options. The program must close
     * the new group separately. The method sends nothing.
     *
     * @param groupRanks distinct ranks of this group, this rank among them
     * @throws CommException USAGE if a rank is not of this group or is named twice, or if this rank is not named
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
     * Releases the resources of the group, including registered memory. Await all {@link Work} before. Pending
     * operations have five seconds to end, pending receives half a second. Then the group is poisoned, because a
     * failure may be the reason of the close, and the job must learn of the failure soon. Idempotent.
     */
    @Override
    void close();
}
