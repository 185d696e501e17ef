package io.jrun.comm.tcp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import org.jspecify.annotations.Nullable;

/**
 * The calling side of a handshake, from the TCP connect on. The handshake has no timeout of its own: the kernel accepts
 * connections for a rank that has not used TCP yet, and the first operation of that rank may be minutes away. The
 * operation that needs the connection has a deadline, and its error names the peer.
 */
final class OutgoingHandshake extends Handshake {
    private enum Step {
        CHALLENGE,
        REPLY,
        REASON
    }

    /** The length of a reply without its reason: the code, and the length of the reason. */
    static final int REPLY_BYTES = 1 + Integer.BYTES;

    private final OutgoingDial dial;
    private final SecretProof prover;
    private final HandshakeRequest request;
    private Step step = Step.CHALLENGE;
    private @Nullable Nonce challenge;
    private byte[] head = new byte[0];
    private HandshakeReply reply = HandshakeReply.CLOSED;

    OutgoingHandshake(Connection connection, OutgoingDial dial, HandshakeRequest request, SecretProof prover) {
        super(connection);
        this.dial = dial;
        this.prover = prover;
        this.request = request;
        send(ByteBuffer.wrap(request.encode()));
        expect(Nonce.BYTES + SecretProof.BYTES);
    }

    OutgoingDial dial() {
        return dial;
    }

    @Override
    boolean advance() throws IOException {
        return (connection().socket().isConnected() || connection().socket().finishConnect()) && super.advance();
    }

    @Override
    int interest() {
        return connection().socket().isConnected() ? super.interest() : SelectionKey.OP_CONNECT;
    }

    @Override
    void received(ByteBuffer message) throws IOException {
        switch (step) {
            case CHALLENGE -> {
                Nonce received = Nonce.read(message);
                byte[] binding = connection().binding();
                prover.check(
                        take(message, SecretProof.BYTES),
                        SecretProof.Role.CALLED,
                        request,
                        received,
                        binding,
                        new byte[0]);
                challenge = received;
                byte[] content = dial.content();
                send(ByteBuffer.allocate(Integer.BYTES + content.length + SecretProof.BYTES)
                        .putInt(content.length)
                        .put(content)
                        .put(prover.prove(SecretProof.Role.CALLER, request, received, binding, content))
                        .flip());
                step = Step.REPLY;
                expect(REPLY_BYTES);
            }
            case REPLY -> {
                head = take(message, message.remaining());
                int length = checkedLength(ByteBuffer.wrap(head).getInt(1));
                step = Step.REASON;
                expect(length + SecretProof.BYTES);
            }
            case REASON -> {
                int length = message.remaining() - SecretProof.BYTES;
                byte[] whole = ByteBuffer.allocate(head.length + length)
                        .put(head)
                        .put(message.slice(0, length))
                        .array();
                message.position(length);
                prover.check(
                        take(message, SecretProof.BYTES),
                        SecretProof.Role.REPLY,
                        request,
                        challenge(),
                        connection().binding(),
                        whole);
                head = whole;
                reply = WireEnum.constant(HandshakeReply.values(), whole[0], "reply");
                finish();
            }
        }
    }

    private Nonce challenge() {
        Nonce received = challenge;
        if (received == null) {
            throw new IllegalStateException("the challenge has not arrived");
        }
        return received;
    }

    /** Returns the reply of the called side. */
    HandshakeReply reply() {
        return reply;
    }

    /** Returns the cause that came with {@link HandshakeReply#FAILED}. */
    FailureNotice reason() throws HandshakeRefusedException {
        ByteBuffer whole = ByteBuffer.wrap(head, REPLY_BYTES, head.length - REPLY_BYTES);
        return FailureNotice.decode(take(whole, whole.remaining()));
    }
}
