package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import io.jrun.comm.Device;
import io.jrun.comm.ErrorCode;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The data plane of one process group on one rank.
 *
 * <p>Threading: for collectives, one thread at a time calls {@link #run} and {@link #allocate}. At the same time at
 * most one SEND and one RECV per peer may run, each on a separate thread. Any thread may call {@link #healthChanged} at
 * any time. {@link #close} is called once, after all operations have ended.
 *
 * <p>Failures: an exception of {@code run} poisons the group ({@link GroupHealth#poison}). A waiting backend must
 * itself check {@link GroupContext#health()}. The wait fails at once when the group is poisoned. If the awaited rank
 * has left, the wait fails as soon as none of that rank's earlier data can still arrive. The backend compares the
 * fingerprint of every call (sequence, kind, type, op, count, root) with its peers, and fails with a
 * COLLECTIVE_MISMATCH that names both ranks and both calls. When a group is poisoned, the backend notifies its peers if
 * possible, so that the peers need not wait for their deadlines. {@link #settle} then finds the one cause that all
 * ranks report.
 */
public interface Backend extends AutoCloseable {
    /**
     * Runs a collective or a message. When the method returns, the caller may use its buffers again.
     *
     * @throws CommException PEER_LOST, COLLECTIVE_TIMEOUT, COLLECTIVE_MISMATCH, SYSTEM, or the cause that poisoned the
     *     group
     */
    void run(Call call);

    /**
     * Begins a collective on device memory, and queues the collective on its stream if that needs no wait for other
     * ranks; else {@link DeviceOperation#enqueue} queues the collective later. Called by threads of the program in call
     * order, one at a time.
     *
     * @param request the call without its number, with its deadline
     * @param memory the device of the buffers
     * @return null if this backend cannot use memory of the device
     */
    default @Nullable DeviceOperation onDevice(Call request, Device memory) {
        return null;
    }

    /**
     * Collective. Allocates {@code call.count()} bytes, zeroed and 64-byte aligned, that this backend moves with the
     * fewest copies. The memory is valid until {@link #close}.
     *
     * @throws CommException as {@link #run}
     */
    MemorySegment allocate(Call call);

    /**
     * Collective. Allocates {@code bytes} bytes that all ranks map, see
     * {@link io.jrun.comm.ProcessGroup#allocateShared}. The count of the call is 0, because the sizes of the ranks may
     * differ. By default the ranks have no common memory.
     *
     * @return the memory of each rank, valid until {@code arena} is closed; empty on all ranks or on none
     * @throws CommException as {@link #run}
     */
    default Optional<List<MemorySegment>> allocateShared(Call call, long bytes, Arena arena) {
        return Optional.empty();
    }

    /**
     * Whether the next message of {@code source} has begun to arrive, so that a RECV from that rank need not wait for
     * the sender. False if that rank has left. Has the threading rules of a RECV from that rank, and returns at once.
     *
     * @throws CommException USAGE if this backend has no such check, and so cannot receive from any source
     */
    default boolean hasMessage(int source) {
        throw new CommException(
                ErrorCode.USAGE, "this backend cannot receive from any source: name the rank to receive from.");
    }

    /**
     * Runs a SEND whose receiver need not know type, count and label beforehand: the envelope travels with the data. By
     * default the envelope is a separate message before the data.
     *
     * @throws CommException as {@link #run}
     */
    default void send(Call call) {
        run(Envelope.sendCall(call));
        if (call.count() > 0) {
            run(call);
        }
    }

    /**
     * Waits for the next message of {@code receive.root()} and returns its envelope. {@link #receive} then takes the
     * message. The method does not touch the memory of the call.
     *
     * @throws CommException as {@link #run}
     */
    default Envelope next(Call receive) {
        long[] words = Envelope.words();
        run(Envelope.receiveCall(words, receive));
        return Envelope.of(words);
    }

    /**
     * Runs the RECV of the message that {@link #next} has found, with the message's type, count and label.
     *
     * @throws CommException as {@link #run}
     */
    default void receive(Call call) {
        if (call.count() > 0) {
            run(call);
        }
    }

    /**
     * The name of the algorithm of a collective, for the timeline: one of few constants. Runs after each collective.
     *
     * @return empty if this backend moves nothing
     */
    default String algorithm(Call call) {
        return "";
    }

    /**
     * Agrees with the other ranks on one cause after a failed operation: notifies the other ranks and collects their
     * causes. Waits less than a second for ranks that do not answer. Afterwards {@link #run} and this method report the
     * same cause.
     *
     * @return the cause of the group's failure: {@code failure}, or a cause that another rank has found at the same
     *     time
     */
    default CommException settle(CommException failure) {
        return failure;
    }

    /**
     * The group's {@link GroupHealth} has changed: a waiting {@link #run} must check it. Returns quickly and never
     * throws.
     */
    void healthChanged();

    @Override
    void close();
}
