package io.jrun.comm.group;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.flight.FlightRecorder;
import java.util.function.BiConsumer;

/** Runs a group's operations when it is their turn, and writes them into the flight recorder. Stateless. */
final class OperationRunner {
    private final GroupRuntime group;

    OperationRunner(GroupRuntime group) {
        this.group = group;
    }

    /**
     * Whatever goes wrong in the data plane leaves the ranks in different places: the group can be used no more.
     *
     * @param queued the operation's ticket while it waited for others, or {@link FlightRecorder#NO_TICKET}
     */
    void run(Call call, long queued, BiConsumer<Backend, Call> body) {
        checkHealth();
        FlightRecorder recorder = group.recorder();
        long ticket = recorder.started(group.recorded(), queued, call);
        CurrentOperation currentOperation = group.registry().currentOperation();
        currentOperation.begin(group, ticket);
        try {
            body.accept(group.backend(), call);
            recorder.ended(group.recorded(), ticket, call, true);
        } catch (RuntimeException | Error failure) {
            recorder.ended(group.recorded(), ticket, call, false);
            throw failed(call, failure);
        } finally {
            currentOperation.end();
        }
    }

    /** What this rank has only heard of may not be the cause that all ranks settle on. */
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
                call.describe() + " on group " + group.context().name() + " was given up: " + cause.getMessage(),
                cause);
    }
}
