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
 * The state of the connections of one channel: the thread of the channel and the setup thread share it. Holds
 * connections until the channel takes them over. Thread-safe.
 *
 * <p>Either rank of a pair may dial the other at first use. If both ranks dial, the connection of the lower world rank
 * stands: the higher rank accepts that connection, and gets {@link HandshakeReply#DUPLICATE} for its own.
 */
final class ChannelConnections {
    /** The state of the connection to one peer. */
    private enum State {
        /** No operation has needed the connection yet. */
        IDLE,
        /** This rank is dialing the peer. */
        DIALING,
        /** The connection exists or will be delivered soon. */
        CONNECTED
    }

    /** A connection for the channel's thread to take over. */
    record Delivery(int peer, Connection connection) {}

    private final long id;
    private final GroupContext group;
    private final ConnectionSetup setup;
    private final Selector selector;
    private final Consumer<CommException> onFailure;
    private final ConcurrentLinkedQueue<Delivery> deliveries = new ConcurrentLinkedQueue<>();
    private final State[] states;
    private final @Nullable String[] unreachableReasons;
    private boolean closed;

    /**
     * Makes the state of a channel without connections. {@link ConnectionSetup#register} lets peers connect.
     *
     * @param id {@link ChannelId}
     * @param selector selector of the channel; a change here wakes the selector
     * @param onFailure receives the cause that a peer reports for the failure of the group
     */
    ChannelConnections(
            long id, GroupContext group, ConnectionSetup setup, Selector selector, Consumer<CommException> onFailure) {
        this.id = id;
        this.group = group;
        this.setup = setup;
        this.selector = selector;
        this.onFailure = onFailure;
        this.states = new State[group.size()];
        this.unreachableReasons = new @Nullable String[group.size()];
        Arrays.fill(states, State.IDLE);
    }

    long id() {
        return id;
    }

    /** Dials the peer unless a connection exists or is being made. */
    synchronized void ensureConnection(int peer) {
        if (states[peer] == State.IDLE && !closed) {
            states[peer] = State.DIALING;
            setup.dial(new DataDial(peer));
        }
    }

    /** Whether a connection exists or will be delivered soon. */
    synchronized boolean isConnected(int peer) {
        return states[peer] == State.CONNECTED;
    }

    /** Returns the reason why a connection cannot be made, as the predicate of "rank 3 ..."; null if there is none. */
    synchronized @Nullable String unreachableReason(int peer) {
        return unreachableReasons[peer];
    }

    /** Returns the group ranks of the peers with a connection, or with a connection in the making. */
    synchronized List<Integer> neighbours() {
        List<Integer> result = new ArrayList<>();
        for (int peer = 0; peer < states.length; peer++) {
            if (states[peer] != State.IDLE) {
                result.add(peer);
            }
        }
        return result;
    }

    /** Removes and returns the next connection to take over; null if there is none. */
    @Nullable
    Delivery take() {
        return deliveries.poll();
    }

    /** Refuses all further connections. */
    synchronized void close() {
        closed = true;
        setup.unregister(this);
    }

    /** Returns the cause of the group's failure; null if the group has not failed. */
    @Nullable
    CommException failure() {
        return group.health().cause();
    }

    /** Handles a peer's report of the group's failure. */
    void failed(FailureNotice notice) {
        onFailure.accept(notice.toException());
    }

    /** Decides about an authenticated caller. {@link #connected} or {@link #abandoned} follows an ACCEPTED. */
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
        unreachableReasons[peer] = null;
        return HandshakeReply.ACCEPTED;
    }

    /** Takes the open connection of an accepted caller. */
    void connected(int worldRank, Connection connection) {
        deliver(groupRank(worldRank), connection);
    }

    /** Handles an accepted caller that has vanished before its connection was open. */
    synchronized void abandoned(int worldRank) {
        states[groupRank(worldRank)] = State.IDLE;
        unreachableReasons[groupRank(worldRank)] = "vanished while connecting";
        selector.wakeup();
    }

    /** Marks all peers without a connection as unreachable. */
    synchronized void markUnreachable(String why) {
        for (int peer = 0; peer < states.length; peer++) {
            markUnreachable(peer, why);
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

    /**
     * Handles a failed dial of this rank. The failure does not matter if the peer's dial has made a connection
     * meanwhile.
     */
    private synchronized void markUnreachable(int peer, String why) {
        if (states[peer] != State.CONNECTED) {
            unreachableReasons[peer] = why;
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

    /** A dial of this rank for a connection of the channel. */
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
        public long channel() {
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
            // The peer's own connection is under way and will be accepted.
        }

        @Override
        public void failed(FailureNotice notice) {
            ChannelConnections.this.failed(notice);
        }

        @Override
        public void unreachable(String why) {
            markUnreachable(peer, why);
        }
    }
}
