package io.jrun.comm.group;

import io.jrun.comm.DeviceStream;
import io.jrun.comm.Work;
import io.jrun.comm.staging.DeviceMessages;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A send from device memory: a copy to host memory, then a send. Thread-safe. */
record DeviceSend(Work queued, DeviceMessages.Outgoing outgoing) implements Work {
    @Override
    public void await() {
        queued.await();
    }

    @Override
    public void await(Duration timeout) {
        queued.await(timeout);
    }

    /** Lets the stream wait until the message has left device memory. The host does not wait. */
    @Override
    public void awaitOn(DeviceStream stream) {
        if (queued.isDone()) {
            queued.await(); // Throws the failure of the send.
        }
        outgoing.awaitOn(stream);
    }

    @Override
    public boolean isDone() {
        return queued.isDone();
    }

    @Override
    public Optional<Throwable> exception() {
        return queued.exception();
    }

    @Override
    public CompletableFuture<Void> future() {
        return queued.future();
    }
}
