package io.jrun.comm.tcp;

import io.jrun.comm.CommException;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.FailureDeadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.control.Frame.Peer;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Sends the cause of a group's failure to the other ranks, and receives theirs. In a group of up to {@value #ALL} ranks
 * each rank sends to all others. In a larger group each rank sends to the ranks at distances of powers of two, which
 * forward the cause: all ranks have the cause after log2 N steps. Thread-safe.
 */
final class FailureGossip {
    /** The limit of connections that a failing rank opens at once. */
    private static final int ALL = 32;

    /**
     * Time for the exchange. With a live peer the exchange takes about a millisecond, and a hundred milliseconds if ten
     * threads compete for each core. A failed operation also limits the exchange by its {@link FailureDeadline}.
     */
    private static final Duration TIMEOUT = Duration.ofMillis(400);

    private final GroupContext group;
    private final long channel;
    private final Consumer<CommException> onAnswer;
    private final Set<Integer> neighbours;
    private final CountDownLatch answers;
    private final Deadline end = Deadline.after(TIMEOUT);

    /**
     * Makes the exchange. Its time begins now.
     *
     * @param channel any channel that the other ranks have open
     * @param neighbours group ranks that receive the cause
     * @param onAnswer receives other causes that the neighbours know
     */
    FailureGossip(GroupContext group, long channel, Set<Integer> neighbours, Consumer<CommException> onAnswer) {
        this.group = group;
        this.channel = channel;
        this.onAnswer = onAnswer;
        this.neighbours = neighbours;
        this.answers = new CountDownLatch(neighbours.size());
    }

    /** Returns the ranks to which a rank of a group of {@code size} sends its cause. */
    static Set<Integer> recipients(int rank, int size) {
        Set<Integer> recipients = new TreeSet<>();
        int step = 1;
        for (int distance = 1; distance < size; distance += step) {
            recipients.add((rank + distance) % size);
            step = size <= ALL ? 1 : distance;
        }
        return recipients;
    }

    /** Begins to send the cause to all neighbours. Does not wait. */
    void start(ConnectionSetup setup) {
        neighbours.forEach(
                neighbour -> setup.dial(new NoticeDial(group.members().get(neighbour))));
    }

    /**
     * Waits until every neighbour has answered, cannot be reached, or has exceeded the time. Only the first calls wait.
     */
    void await() {
        try {
            long left = group.health().failureDeadline().leftNanos(FailureDeadline.Wait.GOSSIP);
            boolean _ = answers.await(Math.min(end.remainingNanos(), left), TimeUnit.NANOSECONDS);
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }

    private final class NoticeDial implements OutgoingDial {
        private final Peer peer;

        NoticeDial(Peer peer) {
            this.peer = peer;
        }

        @Override
        public Peer peer() {
            return peer;
        }

        @Override
        public long channel() {
            return channel;
        }

        @Override
        public HandshakeRequest.Purpose purpose() {
            return HandshakeRequest.Purpose.NOTICE;
        }

        @Override
        public byte[] content() {
            return FailureNotice.of(Objects.requireNonNull(group.health().cause()))
                    .encode();
        }

        @Override
        public void connected(Connection connection) {
            try {
                connection.socket().close();
            } catch (IOException _) {
                // The connection is no longer needed.
            }
            answers.countDown();
        }

        @Override
        public void duplicate() {
            answers.countDown();
        }

        @Override
        public void failed(FailureNotice reason) {
            onAnswer.accept(reason.toException());
            answers.countDown();
        }

        @Override
        public void unreachable(String why) {
            answers.countDown();
        }
    }
}
