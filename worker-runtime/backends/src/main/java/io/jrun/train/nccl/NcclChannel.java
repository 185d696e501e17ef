package io.jrun.train.nccl;

import io.jrun.comm.CommException;
import io.jrun.comm.Device;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.cuda.Cuda;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * An NCCL communicator with a stream of its own. An operation runs after the work that the program has queued on the
 * default stream. The thread of the program queues an operation, except the first, which makes the communicator:
 * {@link NcclWatchdog} detects the ends. If an operation fails or passes its deadline, or if the group is poisoned, the
 * channel aborts the communicator and thereby ends all operations.
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
    private final GroupContext group;

    private final NcclCalls calls;
    private final NcclWatchdog watchdog = new NcclWatchdog(this);
    private final GroupRendezvous rendezvous;
    /**
     * Held in each call of NCCL with the communicator. NCCL's communicators are for one thread at a time: two threads may
     * both complete the same group of calls ({@code ncclGroupJobComplete} in NCCL's {@code init.cc}), and one of them then
     * reads freed memory. On an H200 such a call returned an error code of arbitrary bits.
     */
    private final ReentrantLock calling = new ReentrantLock();

    private volatile @Nullable MemorySegment communicator;
    private @Nullable MemorySegment stream;
    private final DeviceEvents events;
    private volatile boolean isBroken;
    private volatile boolean isConnected;
    private final AtomicInteger unqueued = new AtomicInteger();

    NcclChannel(Nccl nccl, Cuda cuda, Device device, GroupContext group, GroupRendezvous rendezvous) {
        this.nccl = nccl;
        this.cuda = cuda;
        this.device = device;
        this.group = group;
        this.calls = new NcclCalls(nccl, group);
        this.events = new DeviceEvents(cuda);
        this.rendezvous = rendezvous;
    }

    /**
     * Begins an operation that the program calls now. The operation is on the stream afterwards if the communicator is
     * ready and all earlier operations are on the stream. Called by one thread at a time, in call order.
     */
    NcclOperation begin(Call request) {
        NcclOperation operation = new NcclOperation(this, cuda, device, events);
        boolean isReady = isConnected && !isBroken && group.health().cause() == null;
        if (isReady && unqueued.get() == 0) {
            operation.queueNow(request);
        } else {
            unqueued.incrementAndGet();
        }
        return operation;
    }

    /** An operation that {@link #begin} has not queued is on the stream, or has failed. */
    void queuedLater() {
        unqueued.decrementAndGet();
    }

    /**
     * Queues an operation behind the event {@code callers}; returns the event that stands for the operation.
     *
     * @throws CommException if the operation cannot be queued
     */
    synchronized MemorySegment enqueue(Call call, MemorySegment callers) {
        NcclCalls.check(call);
        try {
            useDevice();
            MemorySegment queue = stream();
            cuda.await(queue, callers);
            MemorySegment end = enqueue(call, communicator(call), queue);
            isConnected = true;
            return end;
        } catch (IllegalStateException failure) {
            throw failed(call, failure);
        }
    }

    private MemorySegment enqueue(Call call, MemorySegment comm, MemorySegment queue) {
        try {
            alone(() -> calls.launch(call, call.input(), call.output(), comm, queue));
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

    /** Does nothing while another thread calls NCCL: that thread sees a failure itself. */
    private void checkState(Call call) {
        if (!calling.tryLock()) {
            return;
        }
        try {
            MemorySegment comm = communicator;
            int state = comm == null ? Nccl.SUCCESS : nccl.state(comm);
            if (state != Nccl.IN_PROGRESS) {
                Nccl.check(state, call.kind().methodName());
            }
        } finally {
            calling.unlock();
        }
    }

    private int state(MemorySegment comm) {
        calling.lock();
        try {
            return nccl.state(comm);
        } finally {
            calling.unlock();
        }
    }

    /** Calls NCCL while no other thread does. */
    private void alone(Runnable call) {
        calling.lock();
        try {
            call.run();
        } finally {
            calling.unlock();
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
        int state = state(comm);
        while (state == Nccl.IN_PROGRESS) {
            pause(call);
            state = state(comm);
        }
        Nccl.check(state, call.kind().methodName());
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
        alone(() -> {
            MemorySegment comm = communicator;
            if (comm != null) {
                communicator = null;
                isBroken = true;
                nccl.abort(comm);
            }
        });
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
            alone(() -> {
                nccl.destroy(Objects.requireNonNull(communicator));
                communicator = null;
            });
        }
        abort();
        events.close();
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
            boolean isIdle = comm != null && state(comm) == Nccl.SUCCESS && cuda.isDone(stream());
            if (!rendezvous.meet(group, isIdle, grace) || comm == null) {
                return false;
            }
            alone(() -> nccl.beginFinalize(comm));
            while (state(comm) == Nccl.IN_PROGRESS
                    && !grace.passed()
                    && !group.health().isImpaired()) {
                LockSupport.parkNanos(ASK_NANOS);
            }
            return state(comm) == Nccl.SUCCESS;
        } catch (IllegalStateException | CommException _) {
            return false; // The communicator has failed, or the job's store cannot be reached.
        }
    }
}
