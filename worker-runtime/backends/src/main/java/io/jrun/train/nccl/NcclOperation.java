package io.jrun.train.nccl;

import io.jrun.comm.CommException;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.DeviceOperation;
import io.jrun.comm.cuda.Cuda;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * An operation on device memory between two events. The first event stands for the earlier work of the program, the
 * second for the operation. No call waits for the device.
 */
final class NcclOperation implements DeviceOperation {
    private final NcclChannel channel;
    private final Cuda cuda;
    private final Device device;
    private final DeviceEvents events;
    private final MemorySegment callers;
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private @Nullable MemorySegment end;
    private volatile @Nullable Call call;
    private boolean isOnStream;
    private @Nullable CommException early;

    NcclOperation(NcclChannel channel, Cuda cuda, Device device, DeviceEvents events) {
        this.channel = channel;
        this.cuda = cuda;
        this.device = device;
        this.events = events;
        cuda.use(device.index());
        this.callers = events.take();
        cuda.record(callers, Cuda.DEFAULT_STREAM);
    }

    @Override
    public DeviceStream defaultStream() {
        return DeviceStream.defaultOf(device);
    }

    /** Queues the operation on the thread of the program. A failure is thrown by {@link #enqueue}. */
    void queueNow(Call request) {
        isOnStream = true;
        try {
            queue(request);
        } catch (CommException failure) {
            isOnStream = false;
            early = failure;
        }
    }

    private void queue(Call toRun) {
        Call kept = toRun.copy(); // The watchdog reads the copy later.
        try {
            MemorySegment recorded = channel.enqueue(kept, callers);
            synchronized (this) {
                end = recorded;
                call = kept;
            }
        } finally {
            events.giveBack(callers);
        }
        channel.watch(this);
    }

    @Override
    public boolean isOnStream() {
        return isOnStream;
    }

    @Override
    public void enqueue(Call toRun, Runnable onStream) {
        if (early != null) {
            throw early;
        }
        if (isOnStream) {
            call = toRun.copy(); // The same call with its number.
        } else {
            try {
                queue(toRun);
            } finally {
                channel.queuedLater();
            }
        }
        onStream.run();
    }

    @Override
    public synchronized void awaitOn(DeviceStream stream) {
        if (!stream.device().equals(device)) {
            throw new CommException(
                    ErrorCode.USAGE,
                    "awaitOn: the stream is of the device " + stream.device() + ", but the operation runs on " + device
                            + ". Give a stream of " + device + ".");
        }
        MemorySegment event = end;
        if (event != null) {
            cuda.use(device.index());
            cuda.await(MemorySegment.ofAddress(stream.handle()), event);
        }
    }

    @Override
    public CompletableFuture<Void> done() {
        return done;
    }

    /** Whether the device has run the operation. */
    synchronized boolean hasEnded() {
        MemorySegment event = end;
        return event == null || cuda.hasHappened(event);
    }

    Call call() {
        Call queued = call;
        if (queued == null) {
            throw new IllegalStateException("the operation is not on its stream");
        }
        return queued;
    }

    /** Marks the operation as ended. Later calls that wait for the operation return at once. */
    void complete(@Nullable CommException failure) {
        synchronized (this) {
            MemorySegment event = end;
            end = null;
            if (event != null) {
                events.giveBack(event);
            }
        }
        if (failure == null) {
            done.complete(null);
        } else {
            done.completeExceptionally(failure);
        }
    }
}
