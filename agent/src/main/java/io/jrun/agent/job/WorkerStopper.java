package io.jrun.agent.job;

import io.jrun.agent.proto.SignalWorkers;
import io.jrun.agent.proto.StopWorkers;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Future;

/** Sends signals to the workers of a round, and SIGKILL after the grace period. Confined to the job's thread. */
final class WorkerStopper {
    private static final int SIGUSR1 = 10;
    private static final int SIGUSR2 = 12;

    private final Collection<Worker> living;
    private final SurvivingWorkers parking;
    private final JobEventLoop mailbox;
    private final boolean java;
    private final List<Future<?>> killTimers = new ArrayList<>();

    /**
     * @param living a view of the workers that are not reaped
     * @param java whether the workers are JVMs
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
            return; // HotSpot uses the signal to suspend threads, and prints an error for others
        }
        boolean killsByDefault = signal == SIGUSR1 || signal == SIGUSR2;
        living.forEach(worker -> worker.signal(signal, killsByDefault));
    }

    /**
     * Each request has a grace period of its own. A later request does not lengthen the grace period of an earlier one.
     * A worker that an earlier request has spared has the whole grace period of the later one.
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

    /** Kills all workers, parked workers included. */
    void killAll() {
        kill(false);
    }

    /** Cancels the timers of the grace periods: no worker is left. */
    void over() {
        killTimers.forEach(timer -> timer.cancel(false));
    }
}
