package io.jrun.comm.group;

import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.flight.FlightRecorder;
import io.jrun.comm.operation.OperationQueue;
import java.time.Duration;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/** An operation in a queue of its group. Used once. */
final class GroupTask implements OperationQueue.Task {
    private final GroupRuntime group;
    private final Call request;
    private final Supplier<Deadline> deadline;
    private final BiConsumer<Backend, Call> body;
    private long ticket = FlightRecorder.NO_TICKET;

    /** @param timeout longest time of the operation, counted from its start */
    GroupTask(GroupRuntime group, Call request, Duration timeout, BiConsumer<Backend, Call> body) {
        this(group, request, () -> Deadline.after(timeout), body);
    }

    /** Makes an operation whose deadline counts from before its start. */
    GroupTask(GroupRuntime group, Call request, Deadline deadline, BiConsumer<Backend, Call> body) {
        this(group, request, () -> deadline, body);
    }

    private GroupTask(GroupRuntime group, Call request, Supplier<Deadline> deadline, BiConsumer<Backend, Call> body) {
        this.group = group;
        this.request = request;
        this.deadline = deadline;
        this.body = body;
    }

    @Override
    public void queued(long sequence) {
        ticket = group.recorder().queued(group.recorded(), request.numbered(sequence, deadline.get()));
    }

    @Override
    public void run(long sequence) {
        long number = request.kind().isMessage() ? sequence : sequence + group.extraSequences();
        group.runner().run(request.numbered(number, deadline.get()), ticket, body);
    }
}
