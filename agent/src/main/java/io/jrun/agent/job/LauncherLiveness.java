package io.jrun.agent.job;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Notices that a launcher that used to send pings no longer does. That its host is gone the kernel notices earlier, see
 * {@code SocketTransport}; this is for a launcher that stands still, which is tolerated for a minute: its user may
 * have pressed Ctrl-Z. Time is counted in turns of this process, so that its own standstill counts for one at most.
 * {@link #messageReceived} may be called from any thread. All other methods run on the thread of the job.
 */
final class LauncherLiveness {
    private static final long TURN_MILLIS = 2000;
    private static final int TURNS = 30;

    private final JobEventLoop mailbox;
    private final Runnable onSilence;
    private final AtomicInteger silentTurns = new AtomicInteger(-1);

    /** @param onSilence runs once, when the launcher has been silent for a minute */
    LauncherLiveness(JobEventLoop mailbox, Runnable onSilence) {
        this.mailbox = mailbox;
        this.onSilence = onSilence;
    }

    /** A ping came; the first one starts the watch. */
    void messageReceived() {
        if (silentTurns.getAndSet(0) < 0) {
            mailbox.post(this::nextTurn);
        }
    }

    private void nextTurn() {
        var _ = mailbox.postIn(TURN_MILLIS, this::turn);
    }

    private void turn() {
        if (silentTurns.incrementAndGet() > TURNS) {
            onSilence.run();
        } else {
            nextTurn();
        }
    }
}
