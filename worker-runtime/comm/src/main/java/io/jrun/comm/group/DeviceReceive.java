package io.jrun.comm.group;

import io.jrun.comm.DeviceStream;
import io.jrun.comm.ReceiveFuture;
import io.jrun.comm.Received;
import io.jrun.comm.backend.Call;
import io.jrun.comm.operation.PendingWork;
import io.jrun.comm.staging.DeviceMessages;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A receive into device memory: a receive into host memory, then a copy to the device. Thread-safe. */
final class DeviceReceive implements ReceiveFuture {
    private final ReceiveFuture posted;
    private final DeviceMessages.Incoming incoming;
    private final PendingWork onStream = new PendingWork();
    private final PendingWork done = new PendingWork();

    /** @param request the receive with its deadline */
    DeviceReceive(ReceiveFuture posted, DeviceMessages.Incoming incoming, Call request) {
        this.posted = posted;
        this.incoming = incoming;
        var _ = posted.future().thenRun(() -> incoming.copyToDevice(request)).whenComplete((_, failure) -> {
            if (failure == null) {
                onStream.complete();
            } else {
                incoming.release();
                fail(failure);
            }
        });
        var _ = incoming.done().whenComplete((_, failure) -> {
            incoming.release();
            if (failure == null) {
                done.complete();
            } else {
                fail(failure);
            }
        });
    }

    private void fail(Throwable failure) {
        Throwable cause = failure.getCause() == null ? failure : failure.getCause();
        onStream.fail(cause);
        done.fail(cause);
    }

    @Override
    public Received received() {
        await();
        return posted.received();
    }

    /** Waits for the message on the host, and lets the stream wait for the copy. Returns the envelope. */
    Received receivedOn(DeviceStream stream) {
        awaitOn(stream);
        return posted.received();
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
        incoming.awaitOn(stream);
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
