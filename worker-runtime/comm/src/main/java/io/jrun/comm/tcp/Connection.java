package io.jrun.comm.tcp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * A connection to one peer, plain or inside TLS. No method blocks. After a read or write without progress, the caller
 * waits with a selector for {@link #interest} on the {@link #socket}. Used by one thread at a time.
 */
sealed interface Connection permits PlainConnection, TlsConnection {
    /** Returns the socket, for selectors, addresses and closing. */
    SocketChannel socket();

    /**
     * Fills the buffers of {@code into} in order with the bytes that have arrived. Returns -1 after the end of the
     * stream.
     */
    long read(ByteBuffer... into) throws IOException;

    /**
     * Writes the buffers of {@code from} in order, as many bytes as the kernel takes. If bytes remain, the caller must
     * write the remaining bytes before any other bytes.
     */
    long write(ByteBuffer... from) throws IOException;

    /** Returns the interest set for a selector after an operation of {@code wanted} made no progress. */
    int interest(int wanted);

    /**
     * Returns a value that only the two ends of this connection know (channel binding). The proofs of the handshake
     * cover the value, so a man in the middle cannot forward proofs between two connections. Empty on a plain
     * connection. Known after the first bytes have been moved.
     */
    byte[] binding() throws IOException;
}
