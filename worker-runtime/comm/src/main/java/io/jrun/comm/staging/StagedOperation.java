package io.jrun.comm.staging;

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
 * One operation whose copies are on the streams of a {@link PinnedRing}. The group's thread handles the chunks in
 * {@link #enqueue}. Thread-safe.
 */
final class StagedOperation implements DeviceOperation, Returning {
    /** Handles the chunks of an operation on the group's thread. */
    @FunctionalInterface
    interface HostPart {
        void run(StagedOperation operation, Call call);
    }

    private final Cuda cuda;
    private final PinnedRing ring;
    private final ReturnWatch watch;
    private final int first;
    private final int last;
    private final HostPart hostPart;
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private @Nullable MemorySegment end;

    /**
     * @param first number of the first chunk
     * @param last number of the last chunk
     * @param end event that stands for the end of the copies; null: nothing is queued, because the group has failed
     */
    StagedOperation(
            Cuda cuda,
            PinnedRing ring,
            ReturnWatch watch,
            int first,
            int last,
            @Nullable MemorySegment end,
            HostPart hostPart) {
        this.cuda = cuda;
        this.ring = ring;
        this.watch = watch;
        this.first = first;
        this.last = last;
        this.end = end;
        this.hostPart = hostPart;
    }

    PinnedRing ring() {
        return ring;
    }

    /** The number of the first chunk. */
    int first() {
        return first;
    }

    @Override
    public DeviceStream defaultStream() {
        return DeviceStream.defaultOf(ring.device());
    }

    @Override
    public boolean isOnStream() {
        return true;
    }

    @Override
    public void enqueue(Call call, Runnable onStream) {
        onStream.run();
        hostPart.run(this, call);
        watch.add(this, call.copy());
    }

    @Override
    public synchronized void awaitOn(DeviceStream stream) {
        if (!stream.device().equals(ring.device())) {
            throw new CommException(
                    ErrorCode.USAGE,
                    "awaitOn: the stream is of the device " + stream.device() + ", but the operation runs on "
                            + ring.device() + ". Give a stream of " + ring.device() + ".");
        }
        MemorySegment event = end;
        if (event != null) {
            cuda.use(ring.device().index());
            cuda.await(MemorySegment.ofAddress(stream.handle()), event);
        }
    }

    @Override
    public CompletableFuture<Void> done() {
        return done;
    }

    @Override
    public Device device() {
        return ring.device();
    }

    @Override
    public boolean hasReturned() {
        return ring.hasReturned(last);
    }

    @Override
    public void complete(@Nullable CommException failure) {
        synchronized (this) {
            MemorySegment event = end;
            end = null;
            if (event != null) {
                ring.giveBack(event);
            }
        }
        if (failure == null) {
            done.complete(null);
        } else {
            done.completeExceptionally(failure);
        }
    }
}
