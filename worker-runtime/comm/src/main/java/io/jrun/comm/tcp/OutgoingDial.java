package io.jrun.comm.tcp;

import io.jrun.comm.control.Frame.Peer;

/** A dial of this rank: the peer, the purpose, and the handling of the result. The setup thread calls all methods. */
interface OutgoingDial {
    /** Returns the peer to dial. */
    Peer peer();

    /** Returns the {@link ChannelId} of the connection. */
    long channel();

    /** Returns the purpose of the connection. */
    HandshakeRequest.Purpose purpose();

    /** Returns the bytes of a notice; empty for data. */
    default byte[] content() {
        return new byte[0];
    }

    /** Takes over the open and authenticated connection. */
    void connected(Connection connection);

    /** Handles a duplicate: the peer's own connection will arrive instead. */
    void duplicate();

    /** Handles the failure of the peer's group. */
    void failed(FailureNotice notice);

    /** Handles a failed dial. {@code why} is the predicate of "rank 3 ...". */
    void unreachable(String why);
}
