package io.jrun.train.nccl;

import io.jrun.comm.CommException;
import io.jrun.comm.Device;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.backend.NativeBuffers;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.cuda.Cuda;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * An NCCL communicator with a stream of its own. An operation runs after the work that the program has queued on the
 * default stream. An operation on host memory runs on copies in device memory, and its thread waits for the end. The
 * channel only queues an operation on device memory; {@link NcclWatchdog} detects the end. If an operation fails or
 * passes its deadline, or if the group is poisoned, the channel aborts the communicator and thereby ends all
 * operations. Queues one operation at a time.
 */
final class NcclChannel implements AutoCloseable {
    private static final long ASK_NANOS = 5_000;

    /** Kernels poll the abort flag continuously. The time is long, because copies may be queued after the kernels. */
    private static final Duration ABORT_GRACE = Duration.ofSeconds(1);

    /** The time for which a closing group waits for its operations. */
    private static final Duration CLOSE_GRACE = Duration.ofSeconds(5);

    private final Nccl nccl;
    private final Cuda cuda;
    private final Device device;
    /** The members of the communicator. For messages: the sender, then the receiver. */
    private final GroupContext group;

    private final NcclCalls calls;
    private final NcclWatchdog watchdog = new NcclWatchdog(this);
    private final GroupRendezvous rendezvous;
    private volatile @Nullable MemorySegment communicator;
    private @Nullable MemorySegment stream;
    private @Nullable MemorySegment event;
    private volatile boolean isBroken;

    NcclChannel(Nccl nccl, Cuda cuda, Device device, GroupContext group, GroupRendezvous rendezvous) {
        this.nccl = nccl;
        this.cuda = cuda;
        this.device = device;
        this.group = group;
        this.calls = new NcclCalls(nccl, group);
        this.rendezvous = rendezvous;
    }

    /** Like {@code Backend.run}. */
    synchronized void run(Call call) {
        NcclCalls.check(call);
        try (NativeBuffers buffers = NativeBuffers.of(call, group.size())) {
            cuda.use(device.index());
            MemorySegment queue = stream();
            cuda.record(event(), Cuda.DEFAULT_STREAM);
            cuda.await(queue, event());
            try (DeviceBuffers staged = DeviceBuffers.of(cuda, buffers, queue)) {
                communicate(call, staged, queue);
            }
            buffers.deliver();
        } catch (IllegalStateException failure) {
            throw failed(call, failure);
        }
    }

    private void communicate(Call call, DeviceBuffers staged, MemorySegment queue) {
        try {
            MemorySegment comm = communicator(call);
            boolean isBarrier = call.kind() == OpKind.BARRIER;
            MemorySegment word = isBarrier ? staged.word() : MemorySegment.NULL;
            calls.launch(call, isBarrier ? word : staged.input(), isBarrier ? word : staged.output(), comm, queue);
            // Before this state the call may not be on the stream, and later work would overtake the call.
            awaitState(comm, call);
            staged.bringBack();
            await(comm, queue, call);
        } catch (RuntimeException | Error failure) {
            abort();
            awaitEnd(queue);
            throw failure;
        }
    }

    /** Begins an operation on device memory that the program calls now. */
    NcclOperation begin() {
        return new NcclOperation(this, cuda, device);
    }

    /**
     * Queues an operation on device memory behind the event {@code callers}; returns the event that stands for the
     * operation.
     */
    synchronized MemorySegment enqueue(Call call, MemorySegment callers) {
        NcclCalls.check(call);
        try {
            cuda.use(device.index());
            MemorySegment queue = stream();
            cuda.await(queue, callers);
            return enqueue(call, communicator(call), queue);
        } catch (IllegalStateException failure) {
            throw failed(call, failure);
        }
    }

    private MemorySegment enqueue(Call call, MemorySegment comm, MemorySegment queue) {
        try {
            calls.launch(call, call.input(), call.output(), comm, queue);
            // Before this state the call may not be on the stream, and the event would overtake the call.
            awaitState(comm, call);
            MemorySegment end = cuda.event();
            cuda.record(end, queue);
            return end;
        } catch (RuntimeException | Error failure) {
            abort();
            awaitEnd(queue);
            throw failure;
        }
    }

    void watch(NcclOperation operation) {
        watchdog.add(operation);
    }

    /**
     * Whether the device has run the operation.
     *
     * @throws CommException if the operation has failed
     */
    boolean hasEnded(NcclOperation operation) {
        Call call = operation.call();
        try {
            boolean hasEnded = operation.hasEnded();
            if (isBroken) {
                group.health().check();
                throw new CommException(
                        ErrorCode.ABORTED,
                        call.describe() + " on " + group.label() + " was ended with its communicator");
            }
            if (!hasEnded) {
                checkTime(call);
                checkState(call);
            }
            return hasEnded;
        } catch (IllegalStateException failure) {
            throw failed(call, failure);
        }
    }

    private void checkState(Call call) {
        MemorySegment comm = communicator;
        if (comm != null) {
            int state = nccl.state(comm);
            if (state != Nccl.IN_PROGRESS) {
                Nccl.check(state, call.kind().methodName());
            }
        }
    }

    /** Ends all operations, because one operation has failed with {@code failure}. */
    void giveUp(CommException failure) {
        group.health().poison(failure); // A thread that queues an operation then releases this channel.
        synchronized (this) {
            abort();
            MemorySegment queue = stream;
            if (queue != null) {
                awaitEnd(queue);
            }
        }
    }

    private CommException failed(Call call, IllegalStateException failure) {
        group.health().check();
        return new CommException(
                ErrorCode.SYSTEM, call.describe() + " on " + group.label() + ": " + failure.getMessage(), failure);
    }

    private MemorySegment communicator(Call call) {
        MemorySegment current = communicator;
        if (current == null) {
            byte[] id = rendezvous.fromFirst(group, nccl::uniqueId, call.deadline());
            current = nccl.begin(id, group.groupRank(), group.size());
            communicator = current;
            awaitState(current, call);
        }
        return current;
    }

    private MemorySegment stream() {
        MemorySegment current = stream;
        if (current == null) {
            current = cuda.stream();
            stream = current;
        }
        return current;
    }

    private MemorySegment event() {
        MemorySegment current = event;
        if (current == null) {
            current = cuda.event();
            event = current;
        }
        return current;
    }

    /** Waits until the communicator has accepted the call. */
    private void awaitState(MemorySegment comm, Call call) {
        int state = nccl.state(comm);
        while (state == Nccl.IN_PROGRESS) {
            pause(call);
            state = nccl.state(comm);
        }
        Nccl.check(state, call.kind().methodName());
    }

    private void await(MemorySegment comm, MemorySegment queue, Call call) {
        while (!cuda.isDone(queue)) {
            pause(call);
            int state = nccl.state(comm);
            if (state != Nccl.IN_PROGRESS) {
                Nccl.check(state, call.kind().methodName());
            }
        }
    }

    private void pause(Call call) {
        checkTime(call);
        LockSupport.parkNanos(ASK_NANOS);
    }

    private void checkTime(Call call) {
        group.health().check();
        Deadline deadline = call.deadline();
        if (!deadline.passed()) {
            return;
        }
        throw new CommException(
                ErrorCode.COLLECTIVE_TIMEOUT,
                call.describe() + " on " + group.label() + " was not done within "
                        + deadline.timeout().toSeconds() + " s over NCCL, and was aborted. Compare the ranks' logs;"
                        + " set NCCL_DEBUG=INFO for more output.");
    }

    /** Ends the communicator and its operations without waiting for the other ranks. */
    private void abort() {
        MemorySegment comm = communicator;
        if (comm != null) {
            communicator = null;
            isBroken = true;
            nccl.abort(comm);
        }
    }

    /**
     * Waits for the end of aborted kernels: a kernel writes to the caller's buffers until the kernel reads the abort
     * flag.
     */
    private void awaitEnd(MemorySegment queue) {
        Deadline grace = Deadline.after(ABORT_GRACE);
        try {
            while (!cuda.isDone(queue) && !grace.passed()) {
                LockSupport.parkNanos(ASK_NANOS);
            }
        } catch (IllegalStateException _) {
            // The GPU itself has failed and runs no kernel.
        }
    }

    /** Waits at most {@link #CLOSE_GRACE} for running operations on device memory. */
    @Override
    public void close() {
        watchdog.close(Deadline.after(CLOSE_GRACE));
        release();
    }

    private synchronized void release() {
        abort();
        MemorySegment queue = stream;
        if (queue != null) {
            cuda.destroyStream(queue);
            stream = null;
        }
        MemorySegment mark = event;
        if (mark != null) {
            cuda.destroyEvent(mark);
            event = null;
        }
    }
}
