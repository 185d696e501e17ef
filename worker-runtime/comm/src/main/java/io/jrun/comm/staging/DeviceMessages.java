package io.jrun.comm.staging;

import io.jrun.comm.CommException;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Messages;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.cuda.Cuda;
import io.jrun.comm.cuda.StreamWords;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Messages of one group in memory of GPUs. A message travels as a message of pinned host memory, so that the receiver
 * may have device memory or host memory. Pinned memory is kept for later messages until the close. A message that has
 * failed leaves its memory to its copy. Thread-safe.
 */
public final class DeviceMessages {
    private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(20);

    /** The longest time until a waiting sender sees that the group has failed. */
    private static final long HEALTH_MILLIS = 100;

    private static final long SMALLEST_BYTES = 64 << 10;

    /** The streams of a device: to the host, and to the device. */
    private record Streams(MemorySegment toHost, MemorySegment toDevice) {}

    private final GroupContext group;
    private final Cuda cuda;
    private final StreamWords words;
    private final ReturnWatch watch;
    private final Map<Device, Streams> streams = new HashMap<>();
    private final Map<Device, List<PinnedBuffer>> unused = new HashMap<>();
    private final Map<Device, List<PinnedBuffer>> all = new HashMap<>();
    private long sendingBytes;
    private boolean isClosed;

    /** Makes the messages of a group. Allocates at the first message. */
    public DeviceMessages(GroupContext group, Cuda cuda, StreamWords words) {
        this.group = group;
        this.cuda = cuda;
        this.words = words;
        this.watch = new ReturnWatch(group);
    }

    /** A message on its way from device memory. */
    public final class Outgoing {
        private final Device device;
        private final PinnedBuffer buffer;
        private final long bytes;
        private boolean isReleased;

        private Outgoing(Device device, PinnedBuffer buffer, long bytes) {
            this.device = device;
            this.buffer = buffer;
            this.bytes = bytes;
        }

        /** The host memory that the data plane sends. */
        public MemorySegment memory() {
            return buffer.memory(bytes);
        }

        /** Waits until the message is in host memory. */
        public void awaitArrival(Call call) {
            while (!buffer.isWritten()) {
                group.health().check();
                if (call.remainingNanos() <= 0) {
                    throw new CommException(
                            ErrorCode.COLLECTIVE_TIMEOUT,
                            call.describe() + " on " + group.label() + " timed out after "
                                    + call.timeout().toSeconds() + " s: " + group.describe(group.groupRank())
                                    + " waits for its device " + device
                                    + ", which still runs work that the program has queued before the message.");
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }

        /** Lets {@code stream} wait until the message has left device memory. */
        public void awaitOn(DeviceStream stream) {
            synchronized (DeviceMessages.this) {
                if (!isReleased || buffer.isBusy()) { // a late copy outlives the release
                    buffer.awaitOn(stream, device);
                }
            }
        }

        /** The data plane does not need the host memory any more. */
        public void release() {
            synchronized (DeviceMessages.this) {
                isReleased = true;
                sendingBytes -= bytes;
                giveBack(device, buffer);
                DeviceMessages.this.notifyAll();
            }
        }
    }

    /** A message on its way to device memory. */
    public final class Incoming implements Returning {
        private final Device device;
        private final PinnedBuffer buffer;
        private final MemorySegment target;
        private final CompletableFuture<Void> done = new CompletableFuture<>();
        private boolean isReleased;

        private Incoming(Device device, PinnedBuffer buffer, MemorySegment target) {
            this.device = device;
            this.buffer = buffer;
            this.target = target;
        }

        /** The host memory into which the data plane receives. */
        public MemorySegment memory() {
            return buffer.memory(target.byteSize());
        }

        /**
         * The message is in host memory: queues the copy to the device.
         *
         * @throws CommException SYSTEM if CUDA does not queue the copy
         */
        public void copyToDevice(Call call) {
            try {
                queueCopy();
            } catch (IllegalStateException failure) {
                throw failed(call.describe(), failure);
            }
            watch.add(this, call);
        }

        private void queueCopy() {
            Streams queues = streams(device);
            cuda.use(device.index());
            synchronized (DeviceMessages.this) {
                buffer.copying();
                cuda.await(queues.toDevice(), buffer.event());
                if (target.byteSize() > 0) {
                    cuda.copy(target, memory(), target.byteSize(), Cuda.HOST_TO_DEVICE, queues.toDevice());
                }
                cuda.record(buffer.event(), queues.toDevice());
                words.write(queues.toDevice(), buffer.word(), 1);
            }
        }

        /** Lets {@code stream} wait until the message is in device memory. Called after {@link #copyToDevice}. */
        public void awaitOn(DeviceStream stream) {
            synchronized (DeviceMessages.this) {
                if (!isReleased || buffer.isBusy()) { // a late copy outlives the release
                    buffer.awaitOn(stream, device);
                }
            }
        }

        /** Completes when the message is in device memory. */
        public CompletableFuture<Void> done() {
            return done;
        }

        @Override
        public Device device() {
            return device;
        }

        @Override
        public boolean hasReturned() {
            return buffer.isWritten();
        }

        @Override
        public void complete(@Nullable CommException failure) {
            if (failure == null) {
                done.complete(null);
            } else {
                done.completeExceptionally(failure);
            }
        }

        /** The message is in device memory, or has failed. */
        public void release() {
            synchronized (DeviceMessages.this) {
                isReleased = true;
                giveBack(device, buffer);
            }
        }
    }

    /**
     * Queues the copy of a message to host memory. Waits if the messages under way have more bytes than
     * {@link Messages#MAX_UNEXPECTED_BYTES}.
     *
     * @param source all bytes of the message, in device memory
     */
    public Outgoing send(MemorySegment source, Device device, Deadline deadline) {
        try {
            return copyToHost(source, device, deadline);
        } catch (IllegalStateException failure) {
            throw failed("send", failure);
        }
    }

    private synchronized Outgoing copyToHost(MemorySegment source, Device device, Deadline deadline) {
        long bytes = source.byteSize();
        awaitRoom(bytes, deadline);
        PinnedBuffer buffer = take(device, bytes);
        Streams queues = streams(device);
        buffer.copying();
        cuda.record(buffer.event(), Cuda.DEFAULT_STREAM);
        cuda.await(queues.toHost(), buffer.event());
        if (bytes > 0) {
            cuda.copy(buffer.memory(bytes), source, bytes, Cuda.DEVICE_TO_HOST, queues.toHost());
        }
        cuda.record(buffer.event(), queues.toHost());
        words.write(queues.toHost(), buffer.word(), 1);
        sendingBytes += bytes;
        return new Outgoing(device, buffer, bytes);
    }

    private CommException failed(String what, IllegalStateException failure) {
        return new CommException(
                ErrorCode.SYSTEM,
                what + " on " + group.label() + " of " + group.describe(group.groupRank()) + ": "
                        + failure.getMessage(),
                failure);
    }

    private void awaitRoom(long bytes, Deadline deadline) {
        try {
            while (sendingBytes > 0 && sendingBytes + bytes > Messages.MAX_UNEXPECTED_BYTES) {
                group.health().check();
                if (deadline.passed()) {
                    throw new CommException(
                            ErrorCode.COLLECTIVE_TIMEOUT,
                            "send on " + group.label() + " timed out after "
                                    + deadline.timeout().toSeconds() + " s: messages of " + sendingBytes + " bytes of "
                                    + group.describe(group.groupRank()) + " have no receive yet.");
                }
                wait(HEALTH_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommException(ErrorCode.ABORTED, "interrupted while waiting to send", e);
        }
    }

    /**
     * Prepares a receive.
     *
     * @param target all bytes of the message, in device memory
     */
    public synchronized Incoming receive(MemorySegment target, Device device) {
        try {
            PinnedBuffer buffer = take(device, target.byteSize());
            cuda.record(buffer.event(), Cuda.DEFAULT_STREAM);
            return new Incoming(device, buffer, target);
        } catch (IllegalStateException failure) {
            throw failed("recv", failure);
        }
    }

    private synchronized Streams streams(Device device) {
        return streams.computeIfAbsent(device, _ -> {
            cuda.use(device.index());
            return new Streams(cuda.stream(), cuda.stream());
        });
    }

    private PinnedBuffer take(Device device, long bytes) {
        if (isClosed) {
            throw new CommException(
                    ErrorCode.USAGE, group.label() + " is closed. Do not use a group after closing it.");
        }
        cuda.use(device.index());
        List<PinnedBuffer> free = unused.computeIfAbsent(device, _ -> new ArrayList<>());
        PinnedBuffer smallest = null;
        for (PinnedBuffer buffer : free) {
            if (!buffer.isBusy()
                    && buffer.bytes() >= bytes
                    && (smallest == null || buffer.bytes() < smallest.bytes())) {
                smallest = buffer;
            }
        }
        if (smallest == null) {
            long size = Math.max(SMALLEST_BYTES, Long.highestOneBit(Math.max(1, bytes - 1)) * 2);
            smallest = new PinnedBuffer(cuda, size);
            all.computeIfAbsent(device, _ -> new ArrayList<>()).add(smallest);
        } else {
            boolean _ = free.remove(smallest);
        }
        smallest.reset();
        return smallest;
    }

    private void giveBack(Device device, PinnedBuffer buffer) {
        unused.computeIfAbsent(device, _ -> new ArrayList<>()).add(buffer);
    }

    /** Waits for copies until {@code grace}. Memory that a copy still uses is left to the copy. */
    public void close(Deadline grace) {
        Map<Device, List<PinnedBuffer>> buffers;
        Map<Device, Streams> queues;
        synchronized (this) {
            isClosed = true;
            buffers = Map.copyOf(all);
            queues = Map.copyOf(streams);
        }
        watch.close(grace);
        buffers.values().forEach(each -> each.forEach(buffer -> awaitCopy(buffer, grace)));
        synchronized (this) {
            buffers.forEach((device, each) -> {
                cuda.use(device.index());
                each.forEach(PinnedBuffer::close);
            });
        }
        queues.forEach((device, each) -> {
            cuda.use(device.index());
            cuda.destroyStream(each.toHost());
            cuda.destroyStream(each.toDevice());
        });
    }

    private void awaitCopy(PinnedBuffer buffer, Deadline grace) {
        while (isBusy(buffer) && !grace.passed()) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private synchronized boolean isBusy(PinnedBuffer buffer) {
        return buffer.isBusy();
    }
}
