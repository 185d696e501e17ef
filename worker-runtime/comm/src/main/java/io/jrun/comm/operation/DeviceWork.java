package io.jrun.comm.operation;

import io.jrun.comm.DeviceStream;
import io.jrun.comm.Work;
import io.jrun.comm.backend.DeviceOperation;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** The caller's handle of an operation on device memory. Thread-safe. */
public final class DeviceWork implements Work {
    private final DeviceOperation operation;
    private final PendingWork onStream = new PendingWork();
    private final PendingWork done = new PendingWork();

    public DeviceWork(DeviceOperation operation) {
        this.operation = operation;
    }

    /** The operation is on the backend's stream. */
    public void onStream() {
        onStream.complete();
    }

    /** The device has run the operation. */
    public void complete() {
        done.complete();
    }

    /** The operation has failed, before or after it was on the stream. */
    public void fail(Throwable failure) {
        onStream.fail(failure);
        done.fail(failure);
    }

    @Override
    public void await() {
        done.await();
    }

    @Override
    public void await(Duration timeout) {
        done.await(timeout);
    }

    @Override
    public void awaitOn(DeviceStream stream) {
        onStream.await();
        if (done.isDone()) {
            done.await(); // Throws the failure of the operation.
        }
        operation.awaitOn(stream);
    }

    @Override
    public boolean isDone() {
        return done.isDone();
    }

    @Override
    public Optional<Throwable> exception() {
        return done.exception();
    }

    @Override
    public CompletableFuture<Void> future() {
        return done.future();
    }
}
