package io.jrun.comm.group;

import io.jrun.comm.CommException;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ReceiveFuture;
import io.jrun.comm.Received;
import io.jrun.comm.backend.Call;
import io.jrun.comm.operation.PendingWork;
import io.jrun.comm.staging.DeviceMessages;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.UnaryOperator;

/** A receive into device memory: a receive into host memory, then a copy to the device. Thread-safe. */
final class DeviceReceive implements ReceiveFuture {
    private final ReceiveFuture posted;
    private final DeviceMessages.Incoming incoming;
    private final PendingWork onStream = new PendingWork();
    private final PendingWork done = new PendingWork();

    /**
     * @param request the receive with its deadline
     * @param failGroup fails the group after a failed copy, and returns the cause that all ranks report
     */
    DeviceReceive(
            ReceiveFuture posted,
            DeviceMessages.Incoming incoming,
            Call request,
            UnaryOperator<CommException> failGroup) {
        this.posted = posted;
        this.incoming = incoming;
        var _ = posted.future().whenComplete((_, failure) -> {
            if (failure == null) {
                copy(request, failGroup);
            } else {
                incoming.release();
                Throwable cause = failure.getCause();
                fail(failure instanceof CompletionException && cause != null ? cause : failure);
            }
        });
        var _ = incoming.done().whenComplete((_, failure) -> {
            incoming.release();
            if (failure == null) {
                done.complete();
            } else {
                fail(failure instanceof CommException late ? failGroup.apply(late) : failure);
            }
        });
    }

    private void copy(Call request, UnaryOperator<CommException> failGroup) {
        try {
            incoming.copyToDevice(request);
            onStream.complete();
        } catch (RuntimeException | Error failure) { // nobody else would see it, and the receive would never end
            incoming.release();
            fail(failure instanceof CommException ofCopy ? failGroup.apply(ofCopy) : failure);
        }
    }

    private void fail(Throwable failure) {
        onStream.fail(failure);
        done.fail(failure);
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
        if (done.isDone()) {
            done.await(); // Throws the failure of the copy.
        }
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
