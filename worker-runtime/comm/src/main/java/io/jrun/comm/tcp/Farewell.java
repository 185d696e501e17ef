package io.jrun.comm.tcp;

import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.control.Frame.Peer;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Telling the neighbours why the group has failed here. Thread-safe. */
final class Farewell {
    /** For a peer that is alive the exchange takes about a millisecond; one that is not must not hold up the failing rank. */
    private static final long PATIENCE_MILLIS = 500;

    private final GroupContext group;
    private final long lane;
    private final Notice notice;
    private final Set<Integer> neighbours;
    private final CountDownLatch answers;

    Farewell(GroupContext group, long lane, Notice notice, Set<Integer> neighbours) {
        this.group = group;
        this.lane = lane;
        this.notice = notice;
        this.neighbours = neighbours;
        this.answers = new CountDownLatch(neighbours.size());
    }

    /** Begins to tell everybody; does not wait. */
    void sayBy(ConnectionSetup setup) {
        neighbours.forEach(
                neighbour -> setup.dial(new NoticeDial(group.members().get(neighbour))));
    }

    /** Waits until every neighbour knows, cannot be reached, or takes too long. */
    void await() {
        try {
            boolean _ = answers.await(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }

    private final class NoticeDial implements Dial {
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
        public Hello.Purpose purpose() {
            return Hello.Purpose.NOTICE;
        }

        @Override
        public byte[] content() {
            return notice.encode();
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
        public void failed(Notice reason) {
            answers.countDown();
        }

        @Override
        public void unreachable(String why) {
            answers.countDown();
        }
    }
}
