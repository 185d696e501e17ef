package io.jrun.comm.tcp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * The bytes of one connection, as they are on the socket or inside TLS. Nothing blocks; whoever gets nothing done waits with
 * a selector for {@link #interest} on the {@link #socket}. One thread at a time.
 */
sealed interface Connection permits PlainConnection, TlsConnection {
    /** For selectors, addresses and closing. */
    SocketChannel socket();

    /** Fills {@code into} in order, as far as bytes have come; -1 when the peer has ended the stream. */
    long read(ByteBuffer... into) throws IOException;

    /**
     * Writes from {@code from} in order, as far as the kernel takes bytes. If bytes remain, the caller must write the remaining
     * bytes before any other bytes.
     */
    long write(ByteBuffer... from) throws IOException;

    /** What to select for when {@code wanted} made no progress. */
    int interest(int wanted);

    /**
     * What only the two ends of this very connection know, for their proofs to cover: then nobody can sit between two
     * connections and pass proofs on. Empty where the bytes are not protected anyway. Known once bytes have been moved.
     */
    byte[] binding() throws IOException;
}
