package io.jrun.comm.group;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.flight.FlightRecorder;
import java.util.function.BiConsumer;

/** Runs the operations of a group and writes them into the flight recorder. Stateless. */
final class OperationRunner {
    private final GroupRuntime group;

    OperationRunner(GroupRuntime group) {
        this.group = group;
    }

    /**
     * Runs an operation on the data plane. After any failure the ranks are at different operations, so the group is
     * unusable.
     *
     * @param queued ticket of the operation in the flight recorder if the operation was queued, else
     *     {@link FlightRecorder#NO_TICKET}
     */
    void run(Call call, long queued, BiConsumer<Backend, Call> body) {
        checkHealth();
        FlightRecorder recorder = group.recorder();
        long ticket = recorder.started(group.recorded(), queued, call);
        CurrentOperation currentOperation = group.registry().currentOperation();
        currentOperation.begin(group, ticket);
        try {
            body.accept(group.backend(), call);
            recorder.ended(group.recorded(), ticket, call, true, algorithm(call));
        } catch (RuntimeException | Error failure) {
            recorder.ended(group.recorded(), ticket, call, false, "");
            throw failed(call, failure);
        } finally {
            currentOperation.end();
        }
    }

    private String algorithm(Call call) {
        boolean isKnown = group.recorder().hasTimeline()
                && !call.kind().isMessage()
                && group.devices().deviceOf(call) == null;
        return isKnown ? group.backend().algorithm(call) : "";
    }

    /**
     * Fails with the agreed cause if the group is unhealthy. A cause that this rank has received may not be the agreed
     * cause.
     */
    private void checkHealth() {
        try {
            group.health().check();
        } catch (CommException known) {
            throw group.fail(known);
        }
    }

    private CommException failed(Call call, Throwable failure) {
        CommException cause = group.fail(call.failure(failure));
        return cause.code() == ErrorCode.ABORTED ? givenUp(call, cause) : cause;
    }

    /** Adds the operation to the cause, because an abort does not name the pending operation. */
    private CommException givenUp(Call call, CommException cause) {
        return new CommException(
                ErrorCode.ABORTED,
                call.describe() + " on " + group.context().label() + " was given up: " + cause.getMessage(),
                cause);
    }
}
