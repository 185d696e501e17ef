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
 * Sends the cause of a group's failure to the other ranks, and receives theirs. In a group of up to {@value #ALL} ranks each rank
 * sends to all others. In a larger group each rank sends to the ranks at distances of powers of two, which forward the cause:
 * all ranks have the cause after log2 N steps. Thread-safe.
 */
final class FailureGossip {
    /** A failing rank makes so many connections at most; more would only be needed to agree on one of several causes. */
    private static final int ALL = 32;

    /**
     * With a peer that is alive the exchange takes about a millisecond, a hundred times that where ten threads want each core.
     * An operation that has failed has what is left of its {@link FailureDeadline} for this.
     */
    private static final Duration PATIENCE = Duration.ofMillis(400);

    private final GroupContext group;
    private final long lane;
    private final Consumer<CommException> onAnswer;
    private final Set<Integer> neighbours;
    private final CountDownLatch answers;
    private final Deadline end = Deadline.after(PATIENCE);

    /**
     * To be said at once: its time has begun.
     *
     * @param lane any that the others have open
     * @param neighbours group ranks that are told
     * @param onAnswer told the causes that they know and this rank did not
     */
    FailureGossip(GroupContext group, long lane, Set<Integer> neighbours, Consumer<CommException> onAnswer) {
        this.group = group;
        this.lane = lane;
        this.onAnswer = onAnswer;
        this.neighbours = neighbours;
        this.answers = new CountDownLatch(neighbours.size());
    }

    /** Whom a rank of a group of {@code size} tells. */
    static Set<Integer> audience(int rank, int size) {
        Set<Integer> audience = new TreeSet<>();
        int step = 1;
        for (int distance = 1; distance < size; distance += step) {
            audience.add((rank + distance) % size);
            step = size <= ALL ? 1 : distance;
        }
        return audience;
    }

    /** Begins to tell everybody; does not wait. */
    void sayBy(ConnectionSetup setup) {
        neighbours.forEach(
                neighbour -> setup.dial(new NoticeDial(group.members().get(neighbour))));
    }

    /** Waits until every neighbour knows, cannot be reached, or has taken too long: of many calls only the first ones wait. */
    void await() {
        try {
            long left = group.health().failureDeadline().leftNanos(FailureDeadline.Wait.FAREWELL);
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
        public long lane() {
            return lane;
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
                // It has served its purpose.
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
