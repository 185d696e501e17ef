package io.jrun.comm.group;

import io.jrun.comm.backend.ProgramThreads;
import io.jrun.comm.backend.ProgressThread;
import io.jrun.comm.flight.FlightRecorder;
import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.OperationState;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The operation of the thread that joined the world (the owner). The operation determines the ranks for which this rank
 * waits. Thread-safe.
 */
final class CurrentOperation {
    /** A shorter wait may be about to end. */
    private static final long MIN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Thread owner;
    private final FlightRecorder recorder;
    private final AtomicLong ticket = new AtomicLong(FlightRecorder.NO_TICKET);
    private final boolean isAlone;
    private final AtomicBoolean isShared = new AtomicBoolean();
    private volatile @Nullable GroupRuntime group;

    /**
     * An operation that runs.
     *
     * @param ticket the ticket of the operation in the flight recorder, unique in the process
     */
    record Running(GroupRuntime group, long ticket, OperationRecord operation) {}

    /** @param isAlone whether this process has only one rank, so that all its threads belong to the rank */
    CurrentOperation(Thread owner, FlightRecorder recorder, boolean isAlone) {
        this.owner = owner;
        this.recorder = recorder;
        this.isAlone = isAlone;
    }

    /** The current thread begins an operation. */
    void begin(GroupRuntime begun, long newTicket) {
        Thread current = Thread.currentThread();
        if (current.equals(owner)) {
            if (!begun.equals(group)) {
                group = begun;
            }
            ticket.setRelease(newTicket);
        } else if (!(current instanceof ProgressThread) && !isShared.getPlain()) {
            isShared.set(true);
        }
    }

    /** The current thread's operation is over. */
    void end() {
        if (Thread.currentThread().equals(owner)) {
            ticket.setRelease(FlightRecorder.NO_TICKET);
        }
    }

    /** Returns the operation of the owner; null if no operation of the owner runs. */
    @Nullable
    Running running() {
        long current = ticket.getAcquire();
        GroupRuntime its = group;
        OperationRecord operation = recorder.running(current);
        if (its == null || operation == null) {
            return null;
        }
        boolean isIt = operation.group().equals(its.recorded().name());
        return isIt ? new Running(its, current, operation) : null;
    }

    /**
     * Returns the owner's operation if the rank can do nothing before the operation ends: the program has no other
     * thread that might send, and no asynchronous operation is pending. If ranks share a process, no other thread may
     * ever have used a group. Returns an empty value if the rank may continue by itself, and for a receive from any
     * rank.
     */
    Optional<OperationRecord> blockedIn() {
        Running running = running();
        if (running == null || running.operation().ranNanos() < MIN_NANOS || hasOthers()) {
            return Optional.empty();
        }
        OperationRecord own = running.operation();
        boolean hasPending = recorder.snapshot().stream().anyMatch(other -> isPending(other) && !isSame(own, other));
        return own.isFromAny() || hasPending ? Optional.empty() : Optional.of(own);
    }

    private boolean hasOthers() {
        return isShared.get() || (isAlone && ProgramThreads.areBeside(owner));
    }

    private static boolean isPending(OperationRecord operation) {
        return operation.state() == OperationState.STARTED || operation.state() == OperationState.QUEUED;
    }

    private static boolean isSame(OperationRecord own, OperationRecord other) {
        return other.call().equals(own.call()) && other.group().equals(own.group());
    }
}
