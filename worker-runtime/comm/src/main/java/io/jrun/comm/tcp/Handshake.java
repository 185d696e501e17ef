package io.jrun.comm.tcp;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;

/**
 * One side of the handshake of a connection. No method blocks: the setup thread calls {@link #advance} whenever the
 * socket is ready. Every message has a fixed length, or a length that is checked against a limit before the message is
 * read.
 *
 * <pre>
 * caller                                          called
 *   request (from, to, purpose, nonce C)  -->
 *                                          <--    nonce S, proof(CALLED)
 *   length, notice or nothing, proof(CALLER) -->
 *                                          <--    reply, length, reason or nothing, proof(REPLY)
 * </pre>
 */
abstract sealed class Handshake permits IncomingHandshake, OutgoingHandshake {
    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

    private final Connection connection;
    private ByteBuffer outgoing = NOTHING;
    private ByteBuffer incoming = NOTHING;
    private boolean finished;

    Handshake(Connection connection) {
        this.connection = connection;
    }

    Connection connection() {
        return connection;
    }

    /** Handles the complete message that {@link #expect} has requested. */
    abstract void received(ByteBuffer message) throws IOException;

    /** Advances as far as possible without blocking. Returns true when the handshake is over. */
    boolean advance() throws IOException {
        while (true) {
            if (outgoing.hasRemaining()) {
                long _ = connection.write(outgoing);
                if (outgoing.hasRemaining()) {
                    return false;
                }
            }
            if (finished) {
                return true;
            }
            if (!incoming.hasRemaining()) {
                return false;
            }
            if (connection.read(incoming) < 0) {
                throw new EOFException("the peer closed the connection during the handshake");
            }
            if (incoming.hasRemaining()) {
                return false;
            }
            ByteBuffer message = incoming.flip();
            incoming = NOTHING;
            received(message);
        }
    }

    /** Returns the interest set for the selector: nothing while the answer depends on this process. */
    int interest() {
        return connection.interest(
                outgoing.hasRemaining() ? SelectionKey.OP_WRITE : incoming.hasRemaining() ? SelectionKey.OP_READ : 0);
    }

    final void expect(int bytes) {
        incoming = ByteBuffer.allocate(bytes);
    }

    final void send(ByteBuffer message) {
        outgoing = message;
    }

    final void finish() {
        finished = true;
    }

    static int checkedLength(int length) throws HandshakeRefusedException {
        if (length < 0 || length > FailureNotice.MAX_BYTES) {
            throw new HandshakeRefusedException(
                    "a handshake message announces " + length + " bytes (at most " + FailureNotice.MAX_BYTES + ")");
        }
        return length;
    }

    static byte[] take(ByteBuffer message, int length) {
        byte[] bytes = new byte[length];
        message.get(bytes);
        return bytes;
    }
}
