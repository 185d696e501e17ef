package io.jrun.agent.job;

import io.jrun.agent.proto.SignalWorkers;
import io.jrun.agent.proto.StopWorkers;
import java.util.Collection;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** Sends signals to the workers of a round, the last one when their grace is over. Confined to the job's thread. */
final class Stopping {
    private static final int SIGUSR1 = 10;
    private static final int SIGUSR2 = 12;

    private final Collection<Worker> living;
    private final Parking parking;
    private final Mailbox mailbox;
    private final boolean java;
    private @Nullable Future<?> killTimer;
    private long killAtNanos;
    private boolean spares = true;

    /**
     * @param living a view of the round's workers that are not reaped
     * @param java whether they are JVMs
     */
    Stopping(Collection<Worker> living, Parking parking, Mailbox mailbox, boolean java) {
        this.living = living;
        this.parking = parking;
        this.mailbox = mailbox;
        this.java = java;
    }

    void signal(SignalWorkers request) {
        int signal = request.getSignal();
        if (signal == SIGUSR2 && java) {
            return; // HotSpot's own handler, for suspending threads, takes it and complains on stderr
        }
        boolean killsByDefault = signal == SIGUSR1 || signal == SIGUSR2;
        living.forEach(worker -> worker.signal(signal, killsByDefault));
    }

    /** A later request may shorten the time an earlier one gave, not lengthen it, and spares nobody whom that did not spare. */
    void stop(StopWorkers request) {
        spares &= request.getSpareElastic();
        if (request.getGraceMillis() == 0) {
            kill();
            return;
        }
        living.stream()
                .filter(worker -> !(spares && parking.isElastic(worker.rank())))
                .forEach(worker -> worker.stop(request.getSignal()));
        long killAt = System.nanoTime() + request.getGraceMillis() * 1_000_000L;
        if (killTimer == null || killTimer.isDone() || killAt - killAtNanos < 0) {
            over();
            killAtNanos = killAt;
            killTimer = mailbox.postIn(request.getGraceMillis(), this::kill);
        }
    }

    private void kill() {
        living.stream()
                .filter(worker -> !(spares && parking.isParked(worker.rank())))
                .forEach(Worker::kill);
    }

    /** Parked workers too. */
    void killAll() {
        spares = false;
        kill();
    }

    /** Nobody is left who could use up its grace. */
    void over() {
        if (killTimer != null) {
            killTimer.cancel(false);
        }
    }
}
