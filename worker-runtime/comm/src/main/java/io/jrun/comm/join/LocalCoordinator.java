package io.jrun.comm.join;

import io.jrun.comm.control.Control;
import io.jrun.comm.control.ControlListener;
import io.jrun.comm.control.Frame.StoreReply;
import io.jrun.comm.control.StoreCommand;
import io.jrun.comm.record.RankRecord;
import io.jrun.comm.store.StoreTable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Coordinates ranks of this JVM: holds the store's table, and forwards departures and aborts to all ranks. Thread-safe.
 */
public final class LocalCoordinator implements AutoCloseable {
    private static final long EXPIRY_MILLIS = 50;

    private final StoreTable table = new StoreTable(System::nanoTime);
    private final Map<Integer, ControlListener> listeners = new HashMap<>();
    private final Map<Integer, RankControl> connections = new HashMap<>();
    private final List<Consumer<ControlListener>> history = new ArrayList<>();
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("local-coordinator").factory());
    private final Future<?> expiry;

    /** Makes a coordinator without ranks. */
    public LocalCoordinator() {
        expiry = clock.scheduleAtFixedRate(table::expire, EXPIRY_MILLIS, EXPIRY_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Connects a rank. {@code listener} gets earlier and later events, on the threads of other ranks. */
    public synchronized Control connect(int rank, ControlListener listener) {
        listeners.put(rank, listener);
        history.forEach(event -> event.accept(listener));
        RankControl connection = new RankControl(rank);
        connections.put(rank, connection);
        return connection;
    }

    /** Aborts all ranks. */
    public void abort(String cause) {
        notifyListeners(listener -> listener.abort(cause));
    }

    /**
     * Ends a rank without a report of its own, as an agent sees a killed process. The rank gets no further events, and
     * its requests fail.
     *
     * @param how predicate such as "was killed"
     */
    public void lost(int rank, String how) {
        RankControl connection;
        synchronized (this) {
            connection = connections.get(rank);
        }
        if (connection != null) {
            connection.end(how);
        }
    }

    private synchronized void notifyListeners(Consumer<ControlListener> event) {
        history.add(event);
        listeners.values().forEach(event);
    }

    private synchronized @Nullable ControlListener listenerOf(int rank) {
        return listeners.get(rank);
    }

    private static void start(Runnable work) {
        Thread.ofPlatform().daemon().name("local-coordinator-stacks").start(work);
    }

    private synchronized void left(int rank, String how) {
        listeners.remove(rank);
        notifyListeners(listener -> listener.rankLeft(rank, how));
    }

    @Override
    public void close() {
        expiry.cancel(false);
        clock.shutdownNow();
    }

    private final class RankControl implements Control {
        private final int rank;
        private final AtomicBoolean gone = new AtomicBoolean();
        private final CompletableFuture<StoreReply> closed = new CompletableFuture<>();

        RankControl(int rank) {
            this.rank = rank;
        }

        @Override
        public CompletableFuture<StoreReply> submit(StoreCommand command) {
            CompletableFuture<StoreReply> reply = new CompletableFuture<>();
            table.submit(0, command, reply::complete);
            return reply.applyToEither(closed, either -> either);
        }

        @Override
        public CompletableFuture<RankRecord> locate(int other, String group, long sequence) {
            ControlListener listener = listenerOf(other);
            return listener == null
                    ? CompletableFuture.completedFuture(RankRecord.unknown(other, "has left its world"))
                    : CompletableFuture.supplyAsync(() -> listener.locate(group), LocalCoordinator::start);
        }

        @Override
        public void leave() {
            end("returned from main");
        }

        private void end(String how) {
            if (gone.compareAndSet(false, true)) {
                left(rank, how);
                closed.completeExceptionally(new IOException("this rank has closed its world"));
            }
        }
    }
}
