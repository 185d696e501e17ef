package io.jrun.comm.group;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.RuntimeThread;
import io.jrun.comm.flight.FlightRecorder;
import io.jrun.comm.flight.RankRecords;
import io.jrun.comm.group.CurrentOperation.Running;
import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.RankRecord;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Finds ranks that wait for each other in a circle in which no rank sends. Such a circle would last until a deadline. When the
 * owner of this rank has been in an operation for {@code lateWarning}, the detector asks the ranks for which it waits what they
 * wait for, and so on. A circle that leads back to this rank, and is the same two seconds later, fails the group of the
 * operation. A separate thread looks once a second.
 *
 * <p>A circle is certain only if no rank of the circle can do anything else, see {@link CurrentOperation#blockedIn}. Other
 * circles end at the deadline.
 */
final class DeadlockDetector implements AutoCloseable {
    private static final long TICK_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Time between the two looks. A message that was under way at the first look has arrived at the second. */
    private static final long CONFIRMATION_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** Bounds the number of questions. Larger circles end at the deadline. */
    private static final int MAX_ASKED = 16;

    private static final long ANSWER_MILLIS = 2500;

    /** One rank of a circle, waiting for the next. */
    private record Step(int rank, String operation) {}

    private final WorldContext world;
    private final CurrentOperation currentOperation;
    private final RankRecords records;
    private final Thread thread;
    private volatile boolean closed;

    /** Begins to look. */
    DeadlockDetector(WorldContext world, CurrentOperation currentOperation, FlightRecorder recorder) {
        this.world = world;
        this.currentOperation = currentOperation;
        this.records = new RankRecords(recorder, world);
        this.thread = RuntimeThread.start("circle-watch-" + world.rank(), this::watch);
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }

    private void watch() {
        long searched = FlightRecorder.NO_TICKET;
        long again = 0;
        while (!closed) {
            LockSupport.parkNanos(this, TICK_NANOS);
            Running running = currentOperation.running();
            if (running == null) {
                continue;
            }
            long late = running.group().context().lateWarning().toNanos();
            boolean isTime = running.ticket() == searched
                    ? System.nanoTime() - again >= 0
                    : running.operation().ranNanos() >= late;
            if (isTime) {
                search(running);
                searched = running.ticket();
                again = System.nanoTime() + late;
            }
        }
    }

    private void search(Running running) {
        List<Step> found = circle();
        if (found.isEmpty()) {
            return;
        }
        long end = System.nanoTime() + CONFIRMATION_NANOS;
        for (long left = CONFIRMATION_NANOS; left > 0 && !closed; left = end - System.nanoTime()) {
            LockSupport.parkNanos(this, left);
        }
        Running still = currentOperation.running();
        if (still != null && still.ticket() == running.ticket() && circle().equals(found)) {
            CommException _ = running.group().fail(failure(found));
        }
    }

    /** The ranks of a circle that begins here, this one first; empty if there is none. */
    private List<Step> circle() {
        List<Step> path = new ArrayList<>();
        return currentOperation
                .blockedIn()
                .map(blocked -> records.about(blocked.group(), Optional.of(blocked)))
                .filter(own -> leadsBack(own, path, new HashSet<>()))
                .map(_ -> path)
                .orElse(List.of());
    }

    /** Whether a rank that is blocked waits for this rank, or for another blocked rank that leads back to this rank. */
    private boolean leadsBack(RankRecord blocked, List<Step> path, Set<Integer> asked) {
        OperationRecord operation = blocked.blockedIn().orElseThrow();
        path.add(new Step(blocked.rank(), operation.describe()));
        for (int next : blocked.awaitedRanks()) {
            if (next == blocked.rank()) {
                continue;
            }
            if (next == world.rank() ? isAwaited(own(operation), operation) : asksOn(operation, next, path, asked)) {
                return true;
            }
        }
        path.removeLast();
        return false;
    }

    private boolean asksOn(OperationRecord operation, int next, List<Step> path, Set<Integer> asked) {
        if (asked.size() >= MAX_ASKED || !asked.add(next)) {
            return false;
        }
        RankRecord record = ask(next, operation);
        return record != null
                && record.blockedIn().isPresent()
                && isAwaited(record, operation)
                && leadsBack(record, path, asked);
    }

    private RankRecord own(OperationRecord operation) {
        return records.about(operation.group(), Optional.empty());
    }

    /** Whether {@code operation} waits for that rank: a message for its other end, a collective for all that have not entered. */
    private static boolean isAwaited(RankRecord rank, OperationRecord operation) {
        return operation.isMessage() || rank.started(operation.group()) <= operation.sequence();
    }

    private @Nullable RankRecord ask(int rank, OperationRecord operation) {
        try {
            return world.locator()
                    .locate(rank, operation.group(), operation.sequence())
                    .get(ANSWER_MILLIS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException | TimeoutException _) {
            return null;
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    /** The failure has the same text on every rank of the circle. */
    private static CommException failure(List<Step> circle) {
        int first = 0;
        for (int i = 1; i < circle.size(); i++) {
            first = circle.get(i).rank() < circle.get(first).rank() ? i : first;
        }
        List<String> waits = new ArrayList<>();
        for (int i = 0; i < circle.size(); i++) {
            Step step = circle.get((first + i) % circle.size());
            int next = circle.get((first + i + 1) % circle.size()).rank();
            waits.add("rank " + step.rank() + " waits for rank " + next + " in " + step.operation());
        }
        return new CommException(
                ErrorCode.COLLECTIVE_MISMATCH,
                "ranks wait for each other in a circle in which nobody sends: " + String.join(", ", waits)
                        + ". One of them must make another call first, or make its call asynchronously.");
    }
}
