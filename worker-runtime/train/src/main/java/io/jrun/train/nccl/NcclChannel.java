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
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * An NCCL communicator with a stream of its own. An operation runs after the work that the program has queued on the
 * default stream. An operation on host memory runs on copies in device memory, and its thread waits for the end. The
 * channel only queues an operation on device memory; {@link NcclWatchdog} detects the end. If an operation fails or
 * passes its deadline, or if the group is poisoned, the channel aborts the communicator and thereby ends all
 * operations. Queues one operation at a time.
 */
final class NcclChannel {
    private static final long ASK_NANOS = 5_000;

    /** Kernels poll the abort flag continuously. The time is long, because copies may be queued after the kernels. */
    private static final Duration ABORT_GRACE = Duration.ofSeconds(1);

    /**
     * The time after the deadline of an operation on the device in which the comparison of the ranks' calls, which has
     * the same deadline, finds and names a missing rank. NCCL does not know which rank is missing.
     */
    private static final long COMPARISON_NANOS = TimeUnit.SECONDS.toNanos(2);

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
    private final DeviceEvents events;
    private final DeviceBuffers staged;
    private volatile boolean isBroken;

    NcclChannel(Nccl nccl, Cuda cuda, Device device, GroupContext group, GroupRendezvous rendezvous) {
        this.nccl = nccl;
        this.cuda = cuda;
        this.device = device;
        this.group = group;
        this.calls = new NcclCalls(nccl, group);
        this.events = new DeviceEvents(cuda);
        this.staged = new DeviceBuffers(cuda);
        this.rendezvous = rendezvous;
    }

    /** Like {@code Backend.run}. */
    synchronized void run(Call call) {
        NcclCalls.check(call);
        try (NativeBuffers buffers = NativeBuffers.of(call, group.size())) {
            cuda.use(device.index());
            MemorySegment queue = stream();
            afterCallers(queue);
            staged.bring(buffers, queue);
            communicate(call, buffers, queue);
            buffers.deliver();
        } catch (IllegalStateException failure) {
            throw failed(call, failure);
        }
    }

    /** Makes later work of {@code queue} run after the work that the program has queued on the default stream. */
    private void afterCallers(MemorySegment queue) {
        MemorySegment callers = events.take();
        try {
            cuda.record(callers, Cuda.DEFAULT_STREAM);
            cuda.await(queue, callers);
        } finally {
            events.giveBack(callers);
        }
    }

    private void communicate(Call call, NativeBuffers buffers, MemorySegment queue) {
        try {
            MemorySegment comm = communicator(call);
            boolean isBarrier = call.kind() == OpKind.BARRIER;
            MemorySegment word = isBarrier ? staged.word() : MemorySegment.NULL;
            calls.launch(call, isBarrier ? word : staged.input(), isBarrier ? word : staged.output(), comm, queue);
            // Before this state the call may not be on the stream, and later work would overtake the call.
            awaitState(comm, call);
            staged.bringBack(buffers, queue);
            await(comm, queue, call);
        } catch (RuntimeException | Error failure) {
            abort();
            awaitEnd(queue);
            throw failure;
        }
    }

    /** Begins an operation on device memory that the program calls now. */
    NcclOperation begin() {
        return new NcclOperation(this, cuda, device, events);
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
            MemorySegment end = events.take();
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

    /** Makes the device of the channel the current device of this thread. */
    void useDevice() {
        cuda.use(device.index());
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
                group.health().check();
                if (call.remainingNanos() < -COMPARISON_NANOS) {
                    throw timedOut(call);
                }
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
        if (call.remainingNanos() <= 0) {
            throw timedOut(call);
        }
    }

    private CommException timedOut(Call call) {
        return new CommException(
                ErrorCode.COLLECTIVE_TIMEOUT,
                call.describe() + " on " + group.label() + " was not done within "
                        + call.timeout().toSeconds() + " s over NCCL, and was aborted. Compare the ranks' logs;"
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

    /**
     * Ends the communicator. After a success, all ranks meet first, because a rank may have its result while another
     * rank still reads the buffers of the first.
     *
     * @param grace longest wait for running operations and for the other ranks; the communicator is aborted afterwards
     */
    void close(Deadline grace) {
        watchdog.close(grace);
        try {
            useDevice();
            synchronized (this) {
                end(grace);
            }
        } catch (IllegalStateException _) {
            // The GPU has failed: the driver releases everything with the process.
        }
    }

    private void end(Deadline grace) {
        if (hasFinalized(grace)) {
            nccl.destroy(Objects.requireNonNull(communicator));
            communicator = null;
        }
        abort();
        events.close();
        staged.close();
        MemorySegment queue = stream;
        if (queue != null) {
            cuda.destroyStream(queue);
            stream = null;
        }
    }

    /** Lets the ranks meet, and then finalizes the communicator. False if the communicator has to be aborted. */
    private boolean hasFinalized(Deadline grace) {
        MemorySegment comm = communicator;
        if (comm == null && !isBroken) {
            return false; // No rank has a communicator.
        }
        try {
            boolean isIdle = comm != null && nccl.state(comm) == Nccl.SUCCESS && cuda.isDone(stream());
            if (!rendezvous.meet(group, isIdle, grace) || comm == null) {
                return false;
            }
            nccl.beginFinalize(comm);
            while (nccl.state(comm) == Nccl.IN_PROGRESS
                    && !grace.passed()
                    && !group.health().isImpaired()) {
                LockSupport.parkNanos(ASK_NANOS);
            }
            return nccl.state(comm) == Nccl.SUCCESS;
        } catch (IllegalStateException | CommException _) {
            return false; // The communicator has failed, or the job's store cannot be reached.
        }
    }
}
