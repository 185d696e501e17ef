package io.jrun.comm.staging;

import io.jrun.comm.Device;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.cuda.Cuda;
import io.jrun.comm.cuda.StreamWords;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Slots of pinned host memory through which the chunks of operations travel, one after another. One stream copies to
 * the slots, another stream copies to the device. Streams and host meet at three words in pinned memory: the number of
 * chunks that have arrived in their slots, that the host has handled, and that have returned to the device. The thread
 * that queues the copies waits for nothing, and the thread that handles the chunks makes no call of CUDA, so neither
 * waits for a thread that holds a lock of CUDA. A chunk waits on its stream until the chunk before it in the slot has
 * returned. Numbers of chunks are cyclic. {@link #queue} is called by one thread at a time. Other methods are
 * thread-safe.
 */
final class PinnedRing {
    /** One chunk arrives, one is handled, one returns, and one waits, so that no stream is idle. */
    private static final int SLOTS = 4;

    /** Words on separate cache lines. */
    private static final long LINE = 64;

    private static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();

    private final Cuda cuda;
    private final StreamWords words;
    private final Device device;
    private final long slotBytes;
    private final MemorySegment memory;
    private final MemorySegment arrived;
    private final MemorySegment handled;
    private final MemorySegment returned;
    private final MemorySegment toHost;
    private final MemorySegment toDevice;
    private final MemorySegment callers;
    private final MemorySegment[] free = new MemorySegment[SLOTS];
    private final ArrayDeque<MemorySegment> events = new ArrayDeque<>();
    private int queued;
    /** The number of the last chunk that goes through a slot, plus one. */
    private int queuedThroughSlots;

    private boolean isReleased;

    /** @param slotBytes bytes of one slot, a multiple of 64 */
    PinnedRing(Cuda cuda, StreamWords words, Device device, long slotBytes) {
        this.cuda = cuda;
        this.words = words;
        this.device = device;
        this.slotBytes = slotBytes;
        cuda.use(device.index());
        this.memory = PinnedPool.take(cuda, SLOTS * slotBytes + 3 * LINE);
        MemorySegment lines = memory.asSlice(SLOTS * slotBytes).fill((byte) 0);
        this.arrived = lines.asSlice(0, Integer.BYTES);
        this.handled = lines.asSlice(LINE, Integer.BYTES);
        this.returned = lines.asSlice(2 * LINE, Integer.BYTES);
        this.toHost = cuda.stream();
        this.toDevice = cuda.stream();
        this.callers = cuda.event();
        for (int slot = 0; slot < SLOTS; slot++) {
            free[slot] = cuda.event();
        }
    }

    Device device() {
        return device;
    }

    /** The memory of a chunk between its arrival and its release. */
    MemorySegment slot(int chunk) {
        return memory.asSlice((chunk & (SLOTS - 1)) * slotBytes, slotBytes);
    }

    /** The number of the next chunk. */
    synchronized int next() {
        return queued;
    }

    /**
     * Queues all copies of an operation behind the work that the default stream of the device has now.
     *
     * @return the event that stands for the end of the copies; null if the ring is released
     */
    synchronized @Nullable MemorySegment queue(CopyPlan plan) {
        if (isReleased) {
            return null;
        }
        beginBehindCallers();
        for (int step = 0; step < plan.steps(); step++) {
            MemorySegment slot = slot(queued);
            MemorySegment slotIsFree = free[queued & (SLOTS - 1)];
            int number = queued + 1;
            cuda.await(toHost, slotIsFree);
            plan.copyIn(step, slot, (from, to) -> cuda.copy(to, from, from.byteSize(), Cuda.DEVICE_TO_HOST, toHost));
            words.write(toHost, arrived, number);
            words.await(toDevice, handled, number);
            queued = number;
            plan.copyOut(step, slot, (to, from) -> cuda.copy(to, from, to.byteSize(), Cuda.HOST_TO_DEVICE, toDevice));
            cuda.record(slotIsFree, toDevice);
            words.write(toDevice, returned, number);
            queuedThroughSlots = number;
        }
        return end();
    }

    /** Queues a copy within the device as an operation without chunks for the host. */
    synchronized @Nullable MemorySegment queue(MemorySegment to, MemorySegment from) {
        if (isReleased) {
            return null;
        }
        beginBehindCallers();
        cuda.copy(to, from, from.byteSize(), Cuda.DEVICE_TO_DEVICE, toDevice);
        queued++;
        words.write(toDevice, returned, queued);
        return end();
    }

    private void beginBehindCallers() {
        cuda.use(device.index());
        cuda.record(callers, Cuda.DEFAULT_STREAM);
        cuda.await(toHost, callers);
        cuda.await(toDevice, callers);
    }

    private MemorySegment end() {
        MemorySegment kept = events.poll();
        MemorySegment end = kept == null ? cuda.event() : kept;
        cuda.record(end, toDevice);
        return end;
    }

    /** Takes back the event of an operation that has ended. */
    synchronized void giveBack(MemorySegment event) {
        events.push(event);
    }

    /** Whether a chunk is in its slot. */
    boolean hasArrived(int chunk) {
        return (int) WORD.getAcquire(arrived, 0L) - chunk > 0;
    }

    /** Lets a chunk return to the device. */
    void release(int chunk) {
        WORD.setRelease(handled, 0L, chunk + 1);
    }

    /** Whether a chunk and all before it have returned to the device. */
    boolean hasReturned(int chunk) {
        return (int) WORD.getAcquire(returned, 0L) - chunk > 0;
    }

    /** Whether no copy is queued any more. After {@link #releaseAll} a chunk can return before it arrives. */
    private synchronized boolean isEmpty() {
        return hasReturned(queued - 1) && hasArrived(queuedThroughSlots - 1);
    }

    /**
     * Lets all chunks return with undefined elements, because the group has failed, so that no stream waits any more.
     * Later operations queue nothing.
     */
    synchronized void releaseAll() {
        isReleased = true;
        release(queued - 1);
    }

    /** Throws IllegalStateException if the device has failed. */
    void checkDevice() {
        cuda.use(device.index());
        boolean _ = cuda.isDone(toHost);
    }

    /** Waits until no copy is queued any more. Returns false at the deadline. */
    boolean awaitEmpty(Deadline deadline) {
        while (!isEmpty()) {
            if (deadline.passed()) {
                return false;
            }
            LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(50));
        }
        return true;
    }

    /** Ends the use by a group. No copy is queued any more. */
    synchronized void close() {
        cuda.use(device.index());
        cuda.destroyStream(toHost);
        cuda.destroyStream(toDevice);
        cuda.destroyEvent(callers);
        events.forEach(cuda::destroyEvent);
        for (MemorySegment event : free) {
            cuda.destroyEvent(event);
        }
        PinnedPool.giveBack(memory);
    }
}
