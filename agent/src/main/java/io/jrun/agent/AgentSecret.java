package io.jrun.agent;

import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.stub.MetadataUtils;
import io.jrun.agent.tls.PeerIdentity;
import java.security.MessageDigest;

/**
 * What launchers and agents both know. The secret never leaves its process: a connection is TLS between two holders of
 * the key that is derived from the secret, and each call carries a token that is derived from the secret as well.
 */
public final class AgentSecret {
    /** 128 bits, so that nobody guesses it: who has seen the public key could try secrets at home. */
    public static final int MIN_BYTES = 16;

    private static final Metadata.Key<byte[]> HEADER =
            Metadata.Key.of("jrun-token-bin", Metadata.BINARY_BYTE_MARSHALLER);

    private final PeerIdentity identity;

    private AgentSecret(PeerIdentity identity) {
        this.identity = identity;
    }

    /** A secret of at least {@value #MIN_BYTES} bytes. */
    public static AgentSecret of(byte[] value) {
        if (value.length < MIN_BYTES) {
            throw new IllegalArgumentException(
                    "the agent's secret has " + value.length + " bytes, it needs at least " + MIN_BYTES);
        }
        return new AgentSecret(PeerIdentity.of(value));
    }

    /**
     * The identity that an authority has given, from a file of {@code jrun cert node}.
     *
     * @throws IllegalArgumentException if the text is none of such a file
     */
    public static AgentSecret ofCertificate(String pem) {
        return new AgentSecret(PeerIdentity.ofCertificate(pem));
    }

    /** Who connections are made as, and with. */
    public PeerIdentity identity() {
        return identity;
    }

    /** Adds the token to every call of a channel. */
    public ClientInterceptor client() {
        Metadata headers = new Metadata();
        headers.put(HEADER, identity.token());
        return MetadataUtils.newAttachHeadersInterceptor(headers);
    }

    /** What shows in a message that its sender knows the secret. */
    public byte[] token() {
        return identity.token();
    }

    /** Whether {@code shown} is the token. Takes the same time for each wrong one. */
    public boolean isToken(byte[] shown) {
        return MessageDigest.isEqual(shown, identity.token());
    }

    /** Refuses calls without the token. */
    ServerInterceptor server(RefusalLog log) {
        return new SecretCheck(log);
    }

    private final class SecretCheck implements ServerInterceptor {
        private final byte[] expected = identity.token();
        private final RefusalLog log;

        SecretCheck(RefusalLog log) {
            this.log = log;
        }

        @Override
        public <Q, R> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            byte[] shown = headers.get(HEADER);
            if (shown != null && MessageDigest.isEqual(shown, expected)) {
                return next.startCall(call, headers);
            }
            log.refused("a caller without this agent's secret (a call without its token)");
            call.close(Status.UNAUTHENTICATED.withDescription("the call has no token of its secret"), new Metadata());
            return new ServerCall.Listener<>() {};
        }
    }
}
