package io.jrun.comm;

import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.record.FlightRecorder;
import java.time.Duration;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** An operation on its way through a lane, and into the flight recorder. Used once. */
final class GroupTask implements Lane.Task {
    private final GroupRuntime group;
    private final Request request;
    private final Supplier<Deadline> deadline;
    private final BiConsumer<Backend, Call> body;
    private @Nullable Call queued;
    private @Nullable Call call;
    private long ticket = FlightRecorder.NO_TICKET;

    /** @param timeout counted from when the operation starts to run */
    GroupTask(GroupRuntime group, Request request, Duration timeout, BiConsumer<Backend, Call> body) {
        this(group, request, () -> Deadline.after(timeout), body);
    }

    /** An operation whose time has begun before it runs. */
    GroupTask(GroupRuntime group, Request request, Deadline deadline, BiConsumer<Backend, Call> body) {
        this(group, request, () -> deadline, body);
    }

    private GroupTask(
            GroupRuntime group, Request request, Supplier<Deadline> deadline, BiConsumer<Backend, Call> body) {
        this.group = group;
        this.request = request;
        this.deadline = deadline;
        this.body = body;
    }

    @Override
    public void queued(long sequence) {
        Call call = request.numbered(sequence, deadline.get());
        queued = call;
        ticket = group.recorder().queued(group.recorded(), call);
    }

    /** Whatever goes wrong in the data plane leaves the ranks in different places: the group can be used no more. */
    @Override
    public void run(long sequence) {
        checkHealth();
        Deadline until = deadline.get();
        Call before = queued;
        Call started = before == null ? request.numbered(sequence, until) : before.withDeadline(until);
        call = started;
        ticket = group.recorder().started(group.recorded(), ticket, started);
        OwnerCall ownerCall = group.registry().ownerCall();
        ownerCall.begin(this);
        try {
            body.accept(group.backend(), started);
            group.recorder().ended(group.recorded(), ticket, started, true);
        } catch (RuntimeException | Error failure) {
            throw failed(started, started.failure(failure));
        } finally {
            ownerCall.end();
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

    GroupRuntime group() {
        return group;
    }

    /** Once it runs. Any thread. */
    @Nullable
    Call call() {
        return call;
    }

    private CommException failed(Call started, CommException failure) {
        group.recorder().ended(group.recorded(), ticket, started, false);
        CommException cause = group.fail(failure);
        return cause.code() == ErrorCode.ABORTED ? givenUp(started, cause) : cause;
    }

    /** What stops the job or the group knows nothing of the operation that it ends. */
    private CommException givenUp(Call started, CommException cause) {
        return new CommException(
                ErrorCode.ABORTED,
                started.describe() + " on group " + group.context().name() + " was given up: " + cause.getMessage(),
                cause);
    }
}
