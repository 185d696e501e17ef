package io.jrun.comm;

import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Fingerprint;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.ProgressThread;
import io.jrun.comm.control.Awaiting;
import io.jrun.comm.record.FlightRecorder;
import io.jrun.comm.record.OperationState;
import io.jrun.comm.record.RecordedOperation;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The operation in which the thread that joined the world is, for those who wonder what its rank waits for. Thread-safe. */
final class OwnerCall {
    /** Who has waited for less may just be about to go on. */
    private static final long MIN_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Thread owner;
    private final FlightRecorder recorder;
    private final AtomicReference<@Nullable GroupTask> task = new AtomicReference<>();
    private final AtomicBoolean isShared = new AtomicBoolean();

    OwnerCall(Thread owner, FlightRecorder recorder) {
        this.owner = owner;
        this.recorder = recorder;
    }

    /** The current thread begins an operation, whose call is known. */
    void begin(GroupTask begun) {
        Thread current = Thread.currentThread();
        if (current.equals(owner)) {
            task.setRelease(begun);
        } else if (!(current instanceof ProgressThread) && !isShared.getPlain()) {
            isShared.set(true);
        }
    }

    /** The current thread's operation is over. */
    void end() {
        if (Thread.currentThread().equals(owner)) {
            task.setRelease(null);
        }
    }

    /** The operation of the owner's; null if it is in none. */
    @Nullable
    GroupTask task() {
        return task.getAcquire();
    }

    /**
     * What the rank waits for, if it is nothing but the owner's operation: no other thread of the program has ever used a
     * group, and nothing asynchronous is under way, which might send, or make somebody send when it is done.
     */
    Optional<Awaiting> awaiting() {
        GroupTask current = task();
        Call call = current == null ? null : current.call();
        if (current == null || call == null || isShared.get() || waitedNanos(call) < MIN_NANOS) {
            return Optional.empty();
        }
        boolean isAny = call.kind() == OpKind.RECV && call.root() == Messages.ANY_SOURCE;
        String group = current.group().context().name();
        if (isAny || recorder.snapshot().stream().anyMatch(other -> isPending(other) && !isOf(call, group, other))) {
            return Optional.empty();
        }
        List<Integer> others = current.group().recorded().worldRanks();
        List<Integer> ranks = call.kind().isMessage() ? List.of(others.get(call.root())) : others;
        String operation = call.describe() + " on group " + group;
        return Optional.of(
                new Awaiting(operation, group, call.sequence(), call.kind().isMessage(), ranks));
    }

    static long waitedNanos(Call call) {
        return System.nanoTime() - call.deadline().startNanoTime();
    }

    private static boolean isPending(RecordedOperation operation) {
        return operation.state() == OperationState.STARTED || operation.state() == OperationState.QUEUED;
    }

    private static boolean isOf(Call call, String group, RecordedOperation operation) {
        return operation.sequence() == call.sequence()
                && operation.fingerprint() == Fingerprint.of(call)
                && operation.group().equals(group);
    }
}
