package io.jrun.comm.tcp;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import org.jspecify.annotations.Nullable;

/**
 * The calling side, from the TCP connect on. It has no timeout of its own: a rank that has not used TCP yet looks like one that
 * says nothing, since the kernel accepts for it, and its first operation may be minutes away. The call that wants the
 * connection has a deadline, and names the peer when that passes.
 */
final class OutgoingHandshake extends Handshake {
    private enum Step {
        CHALLENGE,
        VERDICT,
        REASON
    }

    /** A verdict without its reason: code and length of the reason. */
    static final int VERDICT_BYTES = 1 + Integer.BYTES;

    private final OutgoingDial dial;
    private final SecretProof prover;
    private final HandshakeRequest hello;
    private Step step = Step.CHALLENGE;
    private @Nullable Nonce challenge;
    private byte[] head = new byte[0];
    private HandshakeReply verdict = HandshakeReply.CLOSED;

    OutgoingHandshake(Connection connection, OutgoingDial dial, HandshakeRequest hello, SecretProof prover) {
        super(connection);
        this.dial = dial;
        this.prover = prover;
        this.hello = hello;
        send(ByteBuffer.wrap(hello.encode()));
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
                        hello,
                        received,
                        binding,
                        new byte[0]);
                challenge = received;
                byte[] content = dial.content();
                send(ByteBuffer.allocate(Integer.BYTES + content.length + SecretProof.BYTES)
                        .putInt(content.length)
                        .put(content)
                        .put(prover.prove(SecretProof.Role.CALLER, hello, received, binding, content))
                        .flip());
                step = Step.VERDICT;
                expect(VERDICT_BYTES);
            }
            case VERDICT -> {
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
                        SecretProof.Role.VERDICT,
                        hello,
                        challenge(),
                        connection().binding(),
                        whole);
                head = whole;
                verdict = WireEnum.constant(HandshakeReply.values(), whole[0], "verdict");
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

    /** The answer received. */
    HandshakeReply verdict() {
        return verdict;
    }

    /** The reason that came with {@link HandshakeReply#FAILED}. */
    FailureNotice reason() throws HandshakeRefusedException {
        ByteBuffer whole = ByteBuffer.wrap(head, VERDICT_BYTES, head.length - VERDICT_BYTES);
        return FailureNotice.decode(take(whole, whole.remaining()));
    }
}
