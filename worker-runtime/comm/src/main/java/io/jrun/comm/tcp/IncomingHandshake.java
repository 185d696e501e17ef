package io.jrun.comm.tcp;

import io.jrun.comm.backend.WorldContext;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** The called side. After the caller has proved itself, {@link #isProven} and the owner gives its {@link #answer}. */
final class IncomingHandshake extends Handshake {
    private enum Step {
        HELLO,
        LENGTH,
        PROOF
    }

    private final WorldContext world;
    private final SecretProof prover;
    private final long deadlineNanos;
    private final Nonce challenge;
    private Step step = Step.HELLO;
    private @Nullable HandshakeRequest hello;
    private byte[] content = new byte[0];
    private boolean proven;
    private HandshakeReply verdict = HandshakeReply.CLOSED;

    IncomingHandshake(Connection connection, WorldContext world, SecretProof prover, long deadlineNanos) {
        super(connection);
        this.world = world;
        this.prover = prover;
        this.deadlineNanos = deadlineNanos;
        this.challenge = prover.nonce();
        expect(HandshakeRequest.BYTES);
    }

    @Override
    void received(ByteBuffer message) throws IOException {
        switch (step) {
            case HELLO -> {
                HandshakeRequest received = HandshakeRequest.decode(message);
                check(received);
                hello = received;
                send(ByteBuffer.allocate(Nonce.BYTES + SecretProof.BYTES)
                        .put(challenge.toArray())
                        .put(prover.prove(
                                SecretProof.Role.CALLED,
                                received,
                                challenge,
                                connection().binding(),
                                new byte[0]))
                        .flip());
                step = Step.LENGTH;
                expect(Integer.BYTES);
            }
            case LENGTH -> {
                content = new byte[checkedLength(message.getInt())];
                step = Step.PROOF;
                expect(content.length + SecretProof.BYTES);
            }
            case PROOF -> {
                message.get(content);
                prover.check(
                        take(message, SecretProof.BYTES),
                        SecretProof.Role.CALLER,
                        hello(),
                        challenge,
                        connection().binding(),
                        content);
                proven = true;
            }
        }
    }

    private void check(HandshakeRequest received) throws HandshakeRefusedException {
        if (received.round() != world.round()) {
            throw new HandshakeRefusedException(
                    "it belongs to round " + received.round() + " (this is " + world.round() + ")");
        }
        int from = received.from();
        if (received.to() != world.rank() || from < 0 || from >= world.peers().size() || from == world.rank()) {
            throw new HandshakeRefusedException(
                    "rank " + from + " calls rank " + received.to() + " (this is rank " + world.rank() + ")");
        }
    }

    /** What the caller said; only its proof makes it true. */
    HandshakeRequest hello() {
        HandshakeRequest received = hello;
        if (received == null) {
            throw new IllegalStateException("the hello has not arrived");
        }
        return received;
    }

    /** Whether the caller has proved itself and waits for the answer. */
    boolean isProven() {
        return proven;
    }

    /** What the caller's notice says. */
    FailureNotice notice() throws HandshakeRefusedException {
        return FailureNotice.decode(content);
    }

    /** Answers the caller. */
    void answer(HandshakeReply answer, byte[] reason) throws IOException {
        byte[] head = ByteBuffer.allocate(OutgoingHandshake.VERDICT_BYTES + reason.length)
                .put(WireEnum.code(answer))
                .putInt(reason.length)
                .put(reason)
                .array();
        byte[] proof = prover.prove(
                SecretProof.Role.VERDICT, hello(), challenge, connection().binding(), head);
        send(ByteBuffer.allocate(head.length + proof.length)
                .put(head)
                .put(proof)
                .flip());
        verdict = answer;
        finish();
    }

    /** The answer given. */
    HandshakeReply verdict() {
        return verdict;
    }

    /** When an unproven caller is dropped. */
    long deadlineNanos() {
        return deadlineNanos;
    }
}
