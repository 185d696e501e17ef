package io.jrun.comm.tcp;

import io.jrun.comm.control.Frame.Peer;

/** A connection that this rank opens: to whom, what for, and what becomes of it. Callbacks come from the setup thread. */
interface OutgoingDial {
    /** Whom to call. */
    Peer peer();

    /** {@link ChannelId} of the lane it is about. */
    long lane();

    /** What it is for. */
    HandshakeRequest.Purpose purpose();

    /** What a notice says; empty for data. */
    default byte[] content() {
        return new byte[0];
    }

    /** The connection is open and authenticated; this takes it over. */
    void connected(Connection connection);

    /** The peer's own connection will come instead. */
    void duplicate();

    /** The peer's group has failed. */
    void failed(FailureNotice notice);

    /** There is no such connection to be had; {@code why} completes "rank 3 ...". */
    void unreachable(String why);
}
