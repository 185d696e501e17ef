package io.jrun.comm.hierarchy;

import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import java.util.concurrent.TimeUnit;

/**
 * Who gives up first. When a rank is missing, its own node, which sees where it is, is to say so before anybody who merely
 * waits for that node's word: so the first step of a call, in which the ranks of a node meet, ends at the call's deadline,
 * what crosses the network a little later, and what the node does with the result last.
 */
final class TimeoutOrder {
    /** More than ranks that are in step are apart, and than a rank may take to find out what to say of a late one. */
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
