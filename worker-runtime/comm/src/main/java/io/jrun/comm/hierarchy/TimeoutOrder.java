package io.jrun.comm.hierarchy;

import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import java.util.concurrent.TimeUnit;

/**
 * The order of the deadlines inside a call. If a rank is missing, its own node knows its position and should report the
 * failure before ranks that only wait for that node. The first step of a call, in which the ranks of a node meet,
 * therefore ends at the call's deadline, the steps over the network end a little later, and the last step inside the
 * node ends last.
 */
final class TimeoutOrder {
    /**
     * The difference between two deadlines: more than the skew between ranks, and more than a request for locations
     * takes.
     */
    private static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(800);

    private TimeoutOrder() {}

    static Call network(Call part) {
        return withGrace(part, GRACE_NANOS);
    }

    static Call afterNetwork(Call part) {
        return withGrace(part, 2 * GRACE_NANOS);
    }

    private static Call withGrace(Call part, long graceNanos) {
        Deadline own = part.deadline();
        return part.withDeadline(new Deadline(own.nanoTime() + graceNanos, own.timeout()));
    }
}
