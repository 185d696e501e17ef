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
 * Finds ranks that wait for each other in a circle in which no rank sends. Such a circle would last until a deadline.
 * When the owner of this rank has been in an operation for {@code lateWarning}, the detector requests the operation of
 * each awaited rank, and continues with the ranks which that operation awaits. A circle that leads back to this rank,
 * and is the same two seconds later, fails the group of the operation. A separate thread checks once a second.
 *
 * <p>A circle is certain only if no rank of the circle can do anything else, see {@link CurrentOperation#blockedIn}.
 * Other circles end at the deadline.
 */
final class DeadlockDetector implements AutoCloseable {
    private static final long TICK_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Time between two searches. A message that was under way at the first search has arrived at the second. */
    private static final long CONFIRMATION_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** The limit of ranks that one search visits. Larger circles end at the deadline. */
    private static final int MAX_VISITED = 16;

    private static final long ANSWER_MILLIS = 2500;

    /** One rank of a circle. The rank waits for the next rank of the circle. */
    private record Step(int rank, String operation) {}

    private final WorldContext world;
    private final CurrentOperation currentOperation;
    private final RankRecords records;
    private final Thread thread;
    private volatile boolean closed;

    /** Starts the thread. */
    DeadlockDetector(WorldContext world, CurrentOperation currentOperation, FlightRecorder recorder) {
        this.world = world;
        this.currentOperation = currentOperation;
        this.records = new RankRecords(recorder, world);
        this.thread = RuntimeThread.start("deadlock-detector-" + world.rank(), this::watch);
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

    /**
     * Returns the ranks of a circle that begins at this rank, this rank first. Returns an empty list if there is no
     * circle.
     */
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
    private boolean leadsBack(RankRecord blocked, List<Step> path, Set<Integer> visited) {
        OperationRecord operation = blocked.blockedIn().orElseThrow();
        path.add(new Step(blocked.rank(), operation.call() + " on " + blocked.label(operation.group())));
        for (int next : blocked.awaitedRanks()) {
            if (next == blocked.rank()) {
                continue;
            }
            if (next == world.rank() ? isAwaited(own(operation), operation) : leadsOn(operation, next, path, visited)) {
                return true;
            }
        }
        path.removeLast();
        return false;
    }

    private boolean leadsOn(OperationRecord operation, int next, List<Step> path, Set<Integer> visited) {
        if (visited.size() >= MAX_VISITED || !visited.add(next)) {
            return false;
        }
        RankRecord record = locate(next, operation);
        return record != null
                && record.blockedIn().isPresent()
                && isAwaited(record, operation)
                && leadsBack(record, path, visited);
    }

    private RankRecord own(OperationRecord operation) {
        return records.about(operation.group(), Optional.empty());
    }

    /**
     * Whether {@code operation} waits for the rank. A message waits for its peer; a collective waits for all ranks that
     * have not entered.
     */
    private static boolean isAwaited(RankRecord rank, OperationRecord operation) {
        return operation.isMessage() || rank.started(operation.group()) <= operation.sequence();
    }

    private @Nullable RankRecord locate(int rank, OperationRecord operation) {
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

    /** Returns the failure of a circle. The text is the same on every rank of the circle. */
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
                "ranks wait for each other in a circle in which no rank sends: " + String.join(", ", waits)
                        + ". One of these ranks must make another call first, or make its call asynchronously.");
    }
}
