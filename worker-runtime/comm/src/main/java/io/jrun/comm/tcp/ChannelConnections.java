package io.jrun.comm.tcp;

import io.jrun.comm.CommException;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.control.Frame.Peer;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Where a lane's thread and the setup thread meet: how far the connection to each peer has come, and the connections not yet
 * taken over. Thread-safe.
 *
 * <p>Either rank of a pair may call the other when it first needs it. If both do, the lower world rank's call stands: the
 * higher one accepts it and has its own answered with {@link HandshakeReply#DUPLICATE}.
 */
final class ChannelConnections {
    /** How far a connection has come. */
    private enum State {
        /** Nobody has asked for it. */
        IDLE,
        /** This rank is calling the peer. */
        DIALING,
        /** It exists or is about to be delivered. */
        CONNECTED
    }

    /** A connection for the lane's thread to take over. */
    record Delivery(int peer, Connection connection) {}

    private final long id;
    private final GroupContext group;
    private final ConnectionSetup setup;
    private final Selector selector;
    private final Consumer<CommException> onFailure;
    private final ConcurrentLinkedQueue<Delivery> deliveries = new ConcurrentLinkedQueue<>();
    private final State[] states;
    private final @Nullable String[] obstacles;
    private boolean closed;

    /**
     * A door without connections; {@link ConnectionSetup#register} opens it to callers.
     *
     * @param id {@link ChannelId}
     * @param selector the lane's, woken when something changes here
     * @param onFailure told when a peer says why the group has failed
     */
    ChannelConnections(
            long id, GroupContext group, ConnectionSetup setup, Selector selector, Consumer<CommException> onFailure) {
        this.id = id;
        this.group = group;
        this.setup = setup;
        this.selector = selector;
        this.onFailure = onFailure;
        this.states = new State[group.size()];
        this.obstacles = new @Nullable String[group.size()];
        Arrays.fill(states, State.IDLE);
    }

    long id() {
        return id;
    }

    /** Sees to it that there will be a connection, or an obstacle. */
    synchronized void ensureConnection(int peer) {
        if (states[peer] == State.IDLE && !closed) {
            states[peer] = State.DIALING;
            setup.dial(new DataDial(peer));
        }
    }

    /** Whether a connection exists or is about to be delivered. */
    synchronized boolean isConnected(int peer) {
        return states[peer] == State.CONNECTED;
    }

    /** Why there will be no connection, completing "rank 3 ..."; null if nothing speaks against it. */
    synchronized @Nullable String obstacle(int peer) {
        return obstacles[peer];
    }

    /** Group ranks with which there is, or is about to be, a connection. */
    synchronized List<Integer> neighbours() {
        List<Integer> result = new ArrayList<>();
        for (int peer = 0; peer < states.length; peer++) {
            if (states[peer] != State.IDLE) {
                result.add(peer);
            }
        }
        return result;
    }

    /** The next connection to take over; null if there is none. */
    @Nullable
    Delivery take() {
        return deliveries.poll();
    }

    /** No connections any more. */
    synchronized void close() {
        closed = true;
        setup.unregister(this);
    }

    /** Why the group has failed, for callers; null if it has not. */
    @Nullable
    CommException failure() {
        return group.health().cause();
    }

    /** A peer says why the group has failed. */
    void failed(FailureNotice notice) {
        onFailure.accept(notice.toException());
    }

    /** Decides about an authenticated caller; ACCEPTED promises {@link #connected} or {@link #abandoned}. */
    synchronized HandshakeReply admit(int worldRank) {
        int peer = groupRank(worldRank);
        if (closed || peer < 0) {
            return HandshakeReply.CLOSED;
        }
        boolean ownCallStands = states[peer] == State.DIALING && worldRank(group.groupRank()) < worldRank;
        if (ownCallStands || states[peer] == State.CONNECTED) {
            return HandshakeReply.DUPLICATE;
        }
        states[peer] = State.CONNECTED;
        obstacles[peer] = null;
        return HandshakeReply.ACCEPTED;
    }

    /** The connection of an admitted caller is open. */
    void connected(int worldRank, Connection connection) {
        deliver(groupRank(worldRank), connection);
    }

    /** An admitted caller has vanished before its connection was open. */
    synchronized void abandoned(int worldRank) {
        states[groupRank(worldRank)] = State.IDLE;
        obstacles[groupRank(worldRank)] = "vanished while connecting";
        selector.wakeup();
    }

    /** There will be no connections but those there are. */
    synchronized void obstruct(String why) {
        for (int peer = 0; peer < states.length; peer++) {
            obstruct(peer, why);
        }
    }

    private void deliver(int peer, Connection connection) {
        synchronized (this) {
            if (!closed) {
                states[peer] = State.CONNECTED;
                deliveries.add(new Delivery(peer, connection));
                selector.wakeup();
                return;
            }
        }
        setup.linger(connection.socket());
    }

    /** A call of this rank's own has failed; nothing is lost if the peer's has brought a connection meanwhile. */
    private synchronized void obstruct(int peer, String why) {
        if (states[peer] != State.CONNECTED) {
            obstacles[peer] = why;
            selector.wakeup();
        }
    }

    private int worldRank(int peer) {
        return group.members().get(peer).rank();
    }

    private int groupRank(int worldRank) {
        for (int peer = 0; peer < group.size(); peer++) {
            if (worldRank(peer) == worldRank) {
                return peer;
            }
        }
        return -1;
    }

    /** This rank's call for a connection of the lane. */
    private final class DataDial implements OutgoingDial {
        private final int peer;

        DataDial(int peer) {
            this.peer = peer;
        }

        @Override
        public Peer peer() {
            return group.members().get(peer);
        }

        @Override
        public long lane() {
            return id;
        }

        @Override
        public HandshakeRequest.Purpose purpose() {
            return HandshakeRequest.Purpose.DATA;
        }

        @Override
        public void connected(Connection connection) {
            deliver(peer, connection);
        }

        @Override
        public void duplicate() {
            // The peer's own call is on its way and will be admitted.
        }

        @Override
        public void failed(FailureNotice notice) {
            ChannelConnections.this.failed(notice);
        }

        @Override
        public void unreachable(String why) {
            obstruct(peer, why);
        }
    }
}
