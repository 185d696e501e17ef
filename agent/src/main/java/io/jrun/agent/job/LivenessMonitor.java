package io.jrun.agent.job;

import io.jrun.agent.proto.LaunchRound;
import io.jrun.comm.control.Frame;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * Finds workers of one round that hang: workers with jrun's runtime that give no sign of life, or that are in no
 * operation and begin none. The timeouts advance only while this process runs. A paused agent therefore never declares
 * a worker dead. Confined to the job's thread.
 */
final class LivenessMonitor {
    private static final long TURN_MILLIS = 500;

    /** The last sign of life of a worker, and the time since then. */
    private static final class Pulse {
        private Frame.Alive last;
        private long silentMillis;
        private long idleMillis;

        Pulse(Frame.Alive first) {
            last = first;
        }
    }

    private final long workerTimeoutMillis;
    private final long progressTimeoutMillis;
    private final JobEventLoop mailbox;
    private final BiConsumer<Integer, String> onHung;
    private final Map<Integer, Pulse> pulses = new TreeMap<>();
    private boolean ticking;

    /** @param onHung receives each hung rank once, with the words that complete "rank 3 ..." */
    LivenessMonitor(LaunchRound launch, JobEventLoop mailbox, BiConsumer<Integer, String> onHung) {
        this.workerTimeoutMillis = limit(launch.getWorkerTimeoutMillis());
        this.progressTimeoutMillis = limit(launch.getProgressTimeoutMillis());
        this.mailbox = mailbox;
        this.onHung = onHung;
    }

    private static long limit(int millis) {
        return millis == 0 ? Long.MAX_VALUE : millis;
    }

    /** A worker gave a sign of life. The monitor watches the worker from the first sign on. */
    void report(int rank, Frame.Alive alive) {
        Pulse pulse = pulses.computeIfAbsent(rank, _ -> new Pulse(alive));
        if (alive.waiting() || alive.operations() != pulse.last.operations()) {
            pulse.idleMillis = 0;
        }
        pulse.last = alive;
        pulse.silentMillis = 0;
        if (!ticking && Math.min(workerTimeoutMillis, progressTimeoutMillis) < Long.MAX_VALUE) {
            ticking = true;
            var _ = mailbox.postIn(TURN_MILLIS, this::tick);
        }
    }

    /** A worker has closed its connection or ended. The monitor no longer watches it. */
    void remove(int rank) {
        pulses.remove(rank);
    }

    private void tick() {
        ticking = !pulses.isEmpty();
        if (!ticking) {
            return;
        }
        Map<Integer, String> hung = new TreeMap<>();
        pulses.forEach((rank, pulse) -> {
            pulse.silentMillis += TURN_MILLIS;
            pulse.idleMillis += TURN_MILLIS;
            if (pulse.silentMillis > workerTimeoutMillis) {
                hung.put(rank, "has given no sign of life for " + seconds(workerTimeoutMillis));
            } else if (pulse.idleMillis > progressTimeoutMillis) {
                hung.put(rank, "has begun no operation for " + seconds(progressTimeoutMillis) + " and is in none");
            }
        });
        pulses.keySet().removeAll(hung.keySet());
        hung.forEach(onHung);
        var _ = mailbox.postIn(TURN_MILLIS, this::tick);
    }

    private static String seconds(long millis) {
        return millis % 1000 == 0 ? millis / 1000 + " s" : millis + " ms";
    }
}
