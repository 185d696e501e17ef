package io.jrun.comm.group;

import io.jrun.comm.Messages;
import io.jrun.comm.backend.Fingerprint;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.ProgramThreads;
import io.jrun.comm.backend.ProgressThread;
import io.jrun.comm.control.BlockedOperation;
import io.jrun.comm.record.FlightRecorder;
import io.jrun.comm.record.OperationState;
import io.jrun.comm.record.RecordedOperation;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The operation in which the thread that joined the world is, for those who wonder what its rank waits for. Thread-safe. */
final class CurrentOperation {
    /** Who has waited for less may just be about to go on. */
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
     * @param ticket in the flight recorder, which no other operation has
     */
    record Running(GroupRuntime group, long ticket, RecordedOperation operation) {
        long waitedNanos() {
            return System.nanoTime() - operation.startedNanos();
        }
    }

    /** @param isAlone whether this process is the one rank, so that all its threads are that rank's */
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

    /** The operation of the owner's; null if it is in none. */
    @Nullable
    Running running() {
        long current = ticket.getAcquire();
        GroupRuntime its = group;
        RecordedOperation operation = recorder.running(current);
        if (its == null || operation == null) {
            return null;
        }
        boolean isIt = operation.group().equals(its.recorded().name());
        return isIt ? new Running(its, current, operation) : null;
    }

    /**
     * What the rank waits for, if it is nothing but the owner's operation: the program has no other thread, which might yet
     * send, and nothing asynchronous is under way, which might, or make somebody send when it is done. Of ranks that share a
     * process, no other thread has ever used a group.
     */
    Optional<BlockedOperation> awaiting() {
        Running running = running();
        if (running == null || running.waitedNanos() < MIN_NANOS || hasOthers()) {
            return Optional.empty();
        }
        RecordedOperation own = running.operation();
        OpKind kind = Fingerprint.kind(own.fingerprint());
        int peer = Fingerprint.root(own.fingerprint());
        boolean isAny = kind == OpKind.RECV && peer == Messages.ANY_SOURCE;
        if (isAny || recorder.snapshot().stream().anyMatch(other -> isPending(other) && !isSame(own, other))) {
            return Optional.empty();
        }
        List<Integer> others = running.group().recorded().worldRanks();
        List<Integer> ranks = kind.isMessage() ? List.of(others.get(peer)) : others;
        String operation = own.describe() + " on group " + own.group();
        return Optional.of(new BlockedOperation(operation, own.group(), own.sequence(), kind.isMessage(), ranks));
    }

    private boolean hasOthers() {
        return isShared.get() || (isAlone && ProgramThreads.areBeside(owner));
    }

    private static boolean isPending(RecordedOperation operation) {
        return operation.state() == OperationState.STARTED || operation.state() == OperationState.QUEUED;
    }

    private static boolean isSame(RecordedOperation own, RecordedOperation other) {
        return other.sequence() == own.sequence()
                && other.fingerprint() == own.fingerprint()
                && other.group().equals(own.group());
    }
}
