package io.jrun.agent.job;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Finds a launcher that has stopped sending pings. The kernel notices a lost host earlier, see {@code SocketTransport}.
 * This class is for a stopped launcher. The agent waits a minute, because the user may have pressed Ctrl-Z. The periods
 * count, not the time, so a pause of this process counts as one period. {@link #messageReceived} may be called from any
 * thread. All other methods run on the thread of the job.
 */
final class LauncherLiveness {
    private static final long TURN_MILLIS = 2000;
    private static final int TURNS = 30;

    private final JobEventLoop mailbox;
    private final Runnable onTimeout;
    private final AtomicInteger silentTurns = new AtomicInteger(-1);

    /** @param onTimeout runs once, after a minute without a ping */
    LauncherLiveness(JobEventLoop mailbox, Runnable onTimeout) {
        this.mailbox = mailbox;
        this.onTimeout = onTimeout;
    }

    /** A ping has arrived; the first ping starts the timeout. */
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
            onTimeout.run();
        } else {
            nextTurn();
        }
    }
}
