package io.jrun.comm.tcp;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;

/**
 * One side of a connection's opening exchange, without ever blocking: {@link #advance} is called whenever the channel is
 * ready. Every message has a fixed length or a length checked against a limit before it is read.
 *
 * <pre>
 * caller                                          called
 *   Hello (who, whom, what for, nonce C)   -->
 *                                          <--    nonce S, proof(CALLED)
 *   length, notice or nothing, proof(CALLER) -->
 *                                          <--    verdict, length, reason or nothing, proof(VERDICT)
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

    /** Takes the message that was last asked for, complete. */
    abstract void received(ByteBuffer message) throws IOException;

    /** Goes as far as the channel allows without blocking; true when the exchange is over. */
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
                throw new EOFException("it closed the connection during the handshake");
            }
            if (incoming.hasRemaining()) {
                return false;
            }
            ByteBuffer message = incoming.flip();
            incoming = NOTHING;
            received(message);
        }
    }

    /** What to wait for: nothing while the answer depends on this process. */
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
                    "it announces " + length + " bytes in the handshake (at most " + FailureNotice.MAX_BYTES + ")");
        }
        return length;
    }

    static byte[] take(ByteBuffer message, int length) {
        byte[] bytes = new byte[length];
        message.get(bytes);
        return bytes;
    }
}
