package io.jrun.agent.job;

import io.jrun.agent.proto.SignalWorkers;
import io.jrun.agent.proto.StopWorkers;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Future;

/** Sends signals to the workers of a round, the last one when their grace is over. Confined to the job's thread. */
final class WorkerStopper {
    private static final int SIGUSR1 = 10;
    private static final int SIGUSR2 = 12;

    private final Collection<Worker> living;
    private final SurvivingWorkers parking;
    private final JobEventLoop mailbox;
    private final boolean java;
    private final List<Future<?>> killTimers = new ArrayList<>();

    /**
     * @param living a view of the round's workers that are not reaped
     * @param java whether they are JVMs
     */
    WorkerStopper(Collection<Worker> living, SurvivingWorkers parking, JobEventLoop mailbox, boolean java) {
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

    /**
     * Each request has a grace period of its own: a later one lengthens that of nobody, and whom an earlier one has
     * spared has all of it.
     */
    void stop(StopWorkers request) {
        boolean spares = request.getSpareElastic();
        if (request.getGraceMillis() == 0) {
            kill(spares);
            return;
        }
        living.stream()
                .filter(worker -> !(spares && parking.isElastic(worker.rank())))
                .forEach(worker -> worker.stop(request.getSignal()));
        killTimers.add(mailbox.postIn(request.getGraceMillis(), () -> kill(spares)));
    }

    private void kill(boolean spares) {
        living.stream()
                .filter(worker -> !(spares && parking.isParked(worker.rank())))
                .forEach(Worker::kill);
    }

    /** Parked workers too. */
    void killAll() {
        kill(false);
    }

    /** Nobody is left who could use up its grace. */
    void over() {
        killTimers.forEach(timer -> timer.cancel(false));
    }
}
