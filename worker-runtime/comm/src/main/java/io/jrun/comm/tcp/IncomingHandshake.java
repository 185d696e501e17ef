package io.jrun.comm.tcp;

import io.jrun.comm.backend.WorldContext;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** The called side of a handshake. When {@link #isAuthenticated} is true, the owner calls {@link #answer}. */
final class IncomingHandshake extends Handshake {
    private enum Step {
        REQUEST,
        LENGTH,
        PROOF
    }

    private final WorldContext world;
    private final SecretProof prover;
    private final long deadlineNanos;
    private final Nonce challenge;
    private Step step = Step.REQUEST;
    private @Nullable HandshakeRequest request;
    private byte[] content = new byte[0];
    private boolean authenticated;
    private HandshakeReply reply = HandshakeReply.CLOSED;

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
            case REQUEST -> {
                HandshakeRequest received = HandshakeRequest.decode(message);
                check(received);
                request = received;
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
                        request(),
                        challenge,
                        connection().binding(),
                        content);
                authenticated = true;
            }
        }
    }

    private void check(HandshakeRequest received) throws HandshakeRefusedException {
        if (received.round() != world.round()) {
            throw new HandshakeRefusedException(
                    "the caller is in round " + received.round() + " (this rank is in round " + world.round() + ")");
        }
        int from = received.from();
        if (received.to() != world.rank() || from < 0 || from >= world.peers().size() || from == world.rank()) {
            throw new HandshakeRefusedException(
                    "rank " + from + " calls rank " + received.to() + " (this is rank " + world.rank() + ")");
        }
    }

    /** Returns the caller's request. The request is trustworthy only after authentication. */
    HandshakeRequest request() {
        HandshakeRequest received = request;
        if (received == null) {
            throw new IllegalStateException("the request has not arrived");
        }
        return received;
    }

    /** Whether the caller is authenticated and waits for the reply. */
    boolean isAuthenticated() {
        return authenticated;
    }

    /** Returns the caller's notice. */
    FailureNotice notice() throws HandshakeRefusedException {
        return FailureNotice.decode(content);
    }

    /** Replies to the caller. */
    void answer(HandshakeReply answer, byte[] reason) throws IOException {
        byte[] head = ByteBuffer.allocate(OutgoingHandshake.REPLY_BYTES + reason.length)
                .put(WireEnum.code(answer))
                .putInt(reason.length)
                .put(reason)
                .array();
        byte[] proof = prover.prove(
                SecretProof.Role.REPLY, request(), challenge, connection().binding(), head);
        send(ByteBuffer.allocate(head.length + proof.length)
                .put(head)
                .put(proof)
                .flip());
        reply = answer;
        finish();
    }

    /** Returns the reply to the caller. */
    HandshakeReply reply() {
        return reply;
    }

    /** Returns the time at which an unauthenticated caller is dropped. */
    long deadlineNanos() {
        return deadlineNanos;
    }
}
