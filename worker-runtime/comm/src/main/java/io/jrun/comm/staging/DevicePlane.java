package io.jrun.comm.staging;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.DeviceOperation;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.cuda.Cuda;
import io.jrun.comm.cuda.StreamWords;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.function.LongConsumer;
import java.util.function.Supplier;

/**
 * Collectives of one group on memory of GPUs, over the host's data plane of the group. While the host handles one
 * chunk, the next chunk travels to the host and the previous one to the device. {@link #begin} is called by one thread
 * at a time, in the order of the operations. Other methods are thread-safe.
 */
public final class DevicePlane {
    /** The bytes of a slot. A copy of this size takes about 0.2 ms over PCIe 4, long against its fixed cost. */
    private static final long SLOT_BYTES = Long.getLong("jrun.device.slotBytes", 4L << 20);

    /** The time for which a failed operation waits for copies that still use memory of the program. */
    private static final Duration FAILURE_GRACE = Duration.ofSeconds(1);

    /** The time between two questions whether the device has failed. */
    private static final long DEVICE_CHECK_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(10);
    private static final int SPINS = 200;

    /**
     * Runs one step of an operation in host memory.
     *
     * @see #begin
     */
    @FunctionalInterface
    public interface Step extends BiConsumer<Backend, Call> {}

    private final GroupContext group;
    private final Cuda cuda;
    private final StreamWords words;
    private final Supplier<Backend> host;
    private final LongConsumer addSequences;
    private final ReturnWatch watch;
    private final Map<Device, PinnedRing> rings = new HashMap<>();
    private boolean isClosed;

    /**
     * Makes the plane of a group. Allocates at the first operation.
     *
     * @param host the data plane of the group in host memory
     * @param addSequences gets the number of further sequence numbers that an operation has used
     */
    public DevicePlane(
            GroupContext group, Cuda cuda, StreamWords words, Supplier<Backend> host, LongConsumer addSequences) {
        this.group = group;
        this.cuda = cuda;
        this.words = words;
        this.host = host;
        this.addSequences = addSequences;
        this.watch = new ReturnWatch(group);
    }

    /**
     * Queues the copies of an operation. {@link DeviceOperation#enqueue} then runs the operation step by step.
     *
     * @param step runs a call of a step, whose buffers are host memory and whose type is the type of the request
     */
    public DeviceOperation begin(Call request, Device device, Step step) {
        try {
            return group.size() == 1 && isCopy(request) ? copy(request, device) : staged(request, device, step);
        } catch (IllegalStateException failure) {
            releaseAll();
            throw new CommException(
                    ErrorCode.SYSTEM,
                    request.describe() + " on " + group.label() + " of " + group.describe(group.groupRank()) + ": "
                            + failure.getMessage(),
                    failure);
        }
    }

    /** In a group of one rank, an operation without arithmetic is a copy within the device. */
    private static boolean isCopy(Call request) {
        return !request.kind().isInPlace();
    }

    private StagedOperation copy(Call request, Device device) {
        PinnedRing ring = ring(device);
        long bytes = request.blocks(1).total() * request.type().sizeBytes();
        int chunk = ring.next();
        boolean isNothing = bytes == 0 || request.input().equals(request.output());
        MemorySegment end = isNothing
                ? null
                : ring.queue(request.output().asSlice(0, bytes), request.input().asSlice(0, bytes));
        int last = end == null ? chunk - 1 : chunk;
        return new StagedOperation(cuda, ring, watch, chunk, last, end, (_, _) -> {});
    }

    private StagedOperation staged(Call request, Device device, Step step) {
        PinnedRing ring = ring(device);
        CopyPlan plan = new CopyPlan(request, group.size(), group.groupRank(), SLOT_BYTES);
        int first = ring.next();
        MemorySegment end = ring.queue(plan);
        int last = first + plan.steps() - 1;
        return new StagedOperation(
                cuda, ring, watch, first, last, end, (operation, call) -> run(plan, operation, call, step));
    }

    private synchronized PinnedRing ring(Device device) {
        if (isClosed) {
            throw new CommException(
                    ErrorCode.USAGE, group.label() + " is closed. Do not use a group after closing it.");
        }
        return rings.computeIfAbsent(device, _ -> new PinnedRing(cuda, words, device, SLOT_BYTES));
    }

    private void run(CopyPlan plan, StagedOperation operation, Call call, Step body) {
        try {
            long sequence = call.sequence();
            int steps = plan.steps();
            if (plan.hasOwnSteps()) {
                steps = mostSteps(call, steps);
                sequence++;
            }
            PinnedRing ring = operation.ring();
            for (int step = 0; step < steps; step++) {
                int chunk = operation.first() + step;
                boolean hasChunk = step < plan.steps();
                if (hasChunk) {
                    awaitArrival(ring, chunk, call);
                }
                // After its own last step, a rank takes part with empty blocks.
                body.accept(host.get(), plan.call(call, step, sequence + step, ring.slot(chunk)));
                if (hasChunk) {
                    ring.release(chunk);
                }
            }
            addSequences.accept(sequence + steps - 1 - call.sequence());
        } catch (RuntimeException | Error failure) {
            releaseAll();
            drain();
            throw failure;
        }
    }

    /** Returns the largest number of steps of all ranks. */
    private int mostSteps(Call call, int mine) {
        long[] most = {mine};
        MemorySegment memory = MemorySegment.ofArray(most);
        host.get()
                .run(new Call(
                        call.sequence(),
                        OpKind.ALL_REDUCE,
                        DataType.I64,
                        ReduceOp.MAX,
                        1,
                        0,
                        memory,
                        memory,
                        call.deadline()));
        return Math.toIntExact(most[0]);
    }

    private void awaitArrival(PinnedRing ring, int chunk, Call call) {
        long nextCheck = System.nanoTime() + DEVICE_CHECK_NANOS;
        CompletableFuture<Void> check = CompletableFuture.completedFuture(null);
        for (int spins = 0; !ring.hasArrived(chunk); spins++) {
            if (spins < SPINS) {
                Thread.onSpinWait();
                continue;
            }
            group.health().check();
            if (call.remainingNanos() <= 0) {
                throw new CommException(
                        ErrorCode.COLLECTIVE_TIMEOUT,
                        call.describe() + " on " + group.label() + " timed out after "
                                + call.timeout().toSeconds() + " s: " + group.describe(group.groupRank())
                                + " waits for its device " + ring.device()
                                + ", which still runs work that the program has queued before the operation.");
            }
            if (check.isCompletedExceptionally()) {
                throw deviceFailure(check, call);
            }
            if (System.nanoTime() - nextCheck > 0 && check.isDone()) {
                // Another thread makes the call, because the call may wait for a lock of CUDA.
                check = CompletableFuture.runAsync(ring::checkDevice);
                nextCheck = System.nanoTime() + DEVICE_CHECK_NANOS;
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private CommException deviceFailure(CompletableFuture<Void> check, Call call) {
        try {
            check.join();
            throw new IllegalStateException("the check has succeeded");
        } catch (CompletionException failure) {
            return new CommException(
                    ErrorCode.SYSTEM,
                    call.describe() + " on " + group.label() + " of " + group.describe(group.groupRank()) + ": "
                            + failure.getCause(),
                    failure.getCause());
        }
    }

    /** The health of the group has changed. */
    public void healthChanged() {
        if (group.health().cause() != null) {
            releaseAll();
        }
    }

    private void releaseAll() {
        rings().forEach(PinnedRing::releaseAll);
    }

    /** Waits a short time until no copy of a failed group uses memory of the program. */
    private void drain() {
        Deadline grace = Deadline.after(FAILURE_GRACE);
        rings().forEach(ring -> {
            boolean _ = ring.awaitEmpty(grace);
        });
    }

    private synchronized List<PinnedRing> rings() {
        return List.copyOf(rings.values());
    }

    /** Waits for copies until {@code grace}. Memory that a copy still uses is left to the copy. */
    public void close(Deadline grace) {
        synchronized (this) {
            isClosed = true;
        }
        watch.close(grace);
        for (PinnedRing ring : rings()) {
            if (ring.awaitEmpty(grace)) {
                ring.close();
            }
        }
    }
}
