package io.jrun.comm.group;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.BlockedOperation;
import io.jrun.comm.control.RankLocation;
import io.jrun.comm.control.RuntimeThread;
import io.jrun.comm.group.CurrentOperation.Running;
import io.jrun.comm.record.FlightRecorder;
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
 * Finds ranks that wait for each other in a circle in which nobody sends, which would last until a deadline. When the owner of
 * this rank has been in an operation for as long as makes it late, those it waits for are asked what they wait for, and so
 * on. A circle that leads back here, and is the same a while later, fails the operation's group. A thread of its own looks, once
 * a second.
 *
 * <p>It is certain only where no rank has a thread besides the one that waits, nor anything else under way, see {@link
 * CurrentOperation#awaiting}; others are left to the deadline.
 */
final class DeadlockDetector implements AutoCloseable {
    private static final long TICK_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Between the two looks: what was under way from one rank to another has arrived by then. */
    private static final long CONFIRMATION_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** Nobody is flooded with questions; larger circles are left to the deadline. */
    private static final int MAX_ASKED = 16;

    private static final long ANSWER_MILLIS = 2500;

    /** One rank of a circle, waiting for the next. */
    private record Step(int rank, String operation) {}

    private final WorldContext world;
    private final CurrentOperation currentOperation;
    private final FlightRecorder recorder;
    private final Thread thread;
    private volatile boolean closed;

    /** Begins to look. */
    DeadlockDetector(WorldContext world, CurrentOperation currentOperation, FlightRecorder recorder) {
        this.world = world;
        this.currentOperation = currentOperation;
        this.recorder = recorder;
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
            boolean isTime =
                    running.ticket() == searched ? System.nanoTime() - again >= 0 : running.waitedNanos() >= late;
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
        Optional<BlockedOperation> own = currentOperation.awaiting();
        boolean found = own.isPresent() && leadsBack(world.rank(), own.get(), path, new HashSet<>());
        return found ? path : List.of();
    }

    private boolean leadsBack(int rank, BlockedOperation awaiting, List<Step> path, Set<Integer> asked) {
        path.add(new Step(rank, awaiting.operation()));
        for (int next : awaiting.ranks()) {
            if (next == world.rank()
                    ? path.size() > 1 && isAwaited(awaiting)
                    : leadsBack(next, awaiting, path, asked, rank)) {
                return true;
            }
        }
        path.removeLast();
        return false;
    }

    private boolean leadsBack(int next, BlockedOperation awaiting, List<Step> path, Set<Integer> asked, int rank) {
        if (next == rank || asked.size() >= MAX_ASKED || !asked.add(next)) {
            return false;
        }
        RankLocation location = ask(next, awaiting);
        return location != null
                && location.awaiting().isPresent()
                && (awaiting.isMessage() || !location.entered())
                && leadsBack(next, location.awaiting().get(), path, asked);
    }

    /** Whether this rank is one that another waits for. */
    private boolean isAwaited(BlockedOperation awaiting) {
        return awaiting.isMessage()
                || recorder.groups().stream()
                        .noneMatch(group -> group.name().equals(awaiting.group())
                                && group.startedCollectives() > awaiting.sequence());
    }

    private @Nullable RankLocation ask(int rank, BlockedOperation awaiting) {
        try {
            return world.locator()
                    .locate(rank, awaiting.group(), awaiting.sequence())
                    .get(ANSWER_MILLIS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException | TimeoutException _) {
            return null;
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    /** The same on every rank of the circle. */
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
