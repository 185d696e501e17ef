package io.jrun.comm.backend;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The data plane of one process group on one rank.
 *
 * <p>Threading: {@link #run} and {@link #allocate} are called by one thread at a time for collectives; besides that there
 * may be at the same time at most one SEND and one RECV per peer, each on a thread of its own. {@link #healthChanged} may
 * be called by any thread at any time. {@link #close} is called once, when nothing else runs any more.
 *
 * <p>Failures: whatever {@code run} throws poisons the group ({@link GroupHealth#poison}). A backend must itself look at
 * {@link GroupContext#health()} while it waits: it fails a wait at once when the group is poisoned, and, when the rank it
 * waits for has left, as soon as it is sure that nothing which that rank contributed before is still on its way. It
 * compares every call's fingerprint (sequence, kind, type, op, count, root) with its peers' and fails with
 * COLLECTIVE_MISMATCH that names both ranks and both calls. When a group is poisoned, the backend tells its peers if it
 * can, so that they need not wait for their deadlines, and {@link #settle} finds the one cause that all of them report.
 */
public interface Backend extends AutoCloseable {
    /**
     * Runs a collective or a message and returns when the caller's buffers may be used again.
     *
     * @throws CommException PEER_LOST, COLLECTIVE_TIMEOUT, COLLECTIVE_MISMATCH, SYSTEM, or the cause that poisoned the group
     */
    void run(Call call);

    /**
     * Begins an operation on device memory, which {@link DeviceOperation#enqueue} queues later. Called by a thread of the
     * program, at any time.
     *
     * @param input of the call; {@link MemorySegment#NULL} if this rank has none
     * @param output of the call; {@link MemorySegment#NULL} if this rank has none
     * @return null if the operation is to be run by {@link #run}, since its buffers are host memory
     */
    default @Nullable DeviceOperation onDevice(MemorySegment input, MemorySegment output) {
        return null;
    }

    /**
     * Collective: memory of {@code call.count()} bytes, zeroed and 64-byte aligned, that this backend moves with the fewest
     * copies. It lives until {@link #close}.
     *
     * @throws CommException as {@link #run}
     */
    MemorySegment allocate(Call call);

    /**
     * Whether the next message of {@code source} has begun to arrive, so that a RECV from it does not wait for it to be sent;
     * no if that rank has left. Called like such a RECV, and returns at once.
     *
     * @throws CommException USAGE if this backend cannot tell, and so cannot receive from any source
     */
    default boolean hasMessage(int source) {
        throw new CommException(
                ErrorCode.USAGE, "this backend cannot receive from any source: name the rank to receive from.");
    }

    /**
     * Runs a SEND of which the receiver need not know type, count and label beforehand: its envelope travels with it. By
     * default as a message of its own before it.
     *
     * @throws CommException as {@link #run}
     */
    default void send(Call call) {
        run(Envelope.ahead(call));
        if (call.count() > 0) {
            run(call);
        }
    }

    /**
     * Waits for the next message of {@code receive.root()}, which {@link #receive} then takes; its memory is not touched.
     *
     * @throws CommException as {@link #run}
     */
    default Envelope next(Call receive) {
        long[] words = Envelope.words();
        run(Envelope.into(words, receive));
        return Envelope.of(words);
    }

    /**
     * Runs the RECV of the message that {@link #next} has found, of its type, count and label.
     *
     * @throws CommException as {@link #run}
     */
    default void receive(Call call) {
        if (call.count() > 0) {
            run(call);
        }
    }

    /**
     * An operation has failed: tells the other ranks and finds out what they say, so that all report one cause. Waits less than
     * a second, for ranks that do not answer. After that {@link #run} and this throw and return nothing else.
     *
     * @return what has failed the group, here and there: {@code failure}, or what another rank has found at the same time
     */
    default CommException settle(CommException failure) {
        return failure;
    }

    /** The group's {@link GroupHealth} has changed: a waiting {@link #run} must look at it. Returns quickly, never throws. */
    void healthChanged();

    @Override
    void close();
}
