package io.jrun.agent.job;

import io.jrun.agent.proto.Launch;
import io.jrun.comm.control.Frame;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * Watches that the workers of one round that jrun's runtime runs in give signs of life, and that those which are in no
 * operation begin one now and then. Silence is counted in turns of this process, so that its own standstill counts for one at
 * most. Confined to the job's thread.
 */
final class LivenessMonitor {
    private static final long TURN_MILLIS = 500;

    /** What was last heard of a worker, and for how long it has not changed. */
    private static final class Pulse {
        private Frame.Alive last;
        private long silentMillis;
        private long idleMillis;

        Pulse(Frame.Alive first) {
            last = first;
        }
    }

    private final long silenceMillis;
    private final long idlenessMillis;
    private final JobEventLoop mailbox;
    private final BiConsumer<Integer, String> onHung;
    private final Map<Integer, Pulse> pulses = new TreeMap<>();
    private boolean ticking;

    /** @param onHung takes a rank, once, and what completes "rank 3 ..." */
    LivenessMonitor(Launch launch, JobEventLoop mailbox, BiConsumer<Integer, String> onHung) {
        this.silenceMillis = limit(launch.getWorkerTimeoutMillis());
        this.idlenessMillis = limit(launch.getProgressTimeoutMillis());
        this.mailbox = mailbox;
        this.onHung = onHung;
    }

    private static long limit(int millis) {
        return millis == 0 ? Long.MAX_VALUE : millis;
    }

    /** A worker gave a sign of life; from the first one on it is watched. */
    void heard(int rank, Frame.Alive alive) {
        Pulse pulse = pulses.computeIfAbsent(rank, _ -> new Pulse(alive));
        if (alive.waiting() || alive.operations() != pulse.last.operations()) {
            pulse.idleMillis = 0;
        }
        pulse.last = alive;
        pulse.silentMillis = 0;
        if (!ticking && Math.min(silenceMillis, idlenessMillis) < Long.MAX_VALUE) {
            ticking = true;
            var _ = mailbox.postIn(TURN_MILLIS, this::tick);
        }
    }

    /** A worker has closed its connection, or ended: it owes no signs any more. */
    void gone(int rank) {
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
            if (pulse.silentMillis > silenceMillis) {
                hung.put(rank, "has given no sign of life for " + seconds(silenceMillis));
            } else if (pulse.idleMillis > idlenessMillis) {
                hung.put(rank, "has begun no operation for " + seconds(idlenessMillis) + " and is in none");
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
