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
 * The secret that launchers and agents share. The secret never leaves its process. Both ends of a TLS connection derive
 * the key of their identity from the secret, and each call carries a token that is derived from the secret too.
 */
public final class AgentSecret {
    /** The least length: 128 bits. An attacker who has seen the public key can try secrets offline. */
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
     * A secret from a file of {@code jrun cert node}: an identity that an authority has signed.
     *
     * @throws IllegalArgumentException if the text is not from such a file
     */
    public static AgentSecret ofCertificate(String pem) {
        return new AgentSecret(PeerIdentity.ofCertificate(pem));
    }

    /** The own identity in TLS, and the identities that this process accepts. */
    public PeerIdentity identity() {
        return identity;
    }

    /** Adds the token to every call of a channel. */
    public ClientInterceptor client() {
        Metadata headers = new Metadata();
        headers.put(HEADER, identity.token());
        return MetadataUtils.newAttachHeadersInterceptor(headers);
    }

    /** The token of each call. It proves that the sender knows the secret. */
    public byte[] token() {
        return identity.token();
    }

    /** Whether {@code shown} is the token. The comparison takes the same time for each wrong token. */
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
            call.close(
                    Status.UNAUTHENTICATED.withDescription("the call has no token of this agent's secret"),
                    new Metadata());
            return new ServerCall.Listener<>() {};
        }
    }
}
