package io.jrun.agent;

import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.netty.handler.ssl.ClientAuth;
import io.grpc.netty.shaded.io.netty.handler.ssl.DelegatingSslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslHandshakeTimeoutException;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslProvider;
import io.jrun.agent.tls.PeerIdentity;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;

/** TLS 1.3 in which both sides prove that they know the secret, for the network library. Stateless. */
final class TlsContext {
    /**
     * All peers have X25519. Otherwise the first message would also carry a key of P-256, which takes 100 ms to make.
     */
    private static final String[] KEY_EXCHANGE = {"x25519"};

    /**
     * The library logs a warning with a stack for each error that jrun gets as the status of a call. The field keeps
     * the logger, and with it the level, from the garbage collector.
     */
    private static final Logger GRPC = Logger.getLogger("io.grpc");

    private TlsContext() {}

    /** For the side that dials. */
    static SslContext client(PeerIdentity identity) {
        return build(SslContextBuilder.forClient().keyManager(identity.keyManager()), identity);
    }

    /** For the side that accepts. */
    static SslContext server(PeerIdentity identity) {
        return build(SslContextBuilder.forServer(identity.keyManager()).clientAuth(ClientAuth.REQUIRE), identity);
    }

    /** Explains the limit of the TLS handshake, which busy machines can hit. Other statuses stay as they are. */
    static Status withHandshakeLimit(Status status) {
        return ErrorCauses.find(status, SslHandshakeTimeoutException.class).isEmpty()
                ? status
                : Status.UNAVAILABLE.withDescription(
                        "the TLS handshake did not end within 10 s, because a host or the network is too busy, or"
                                + " because the other process is stopped; check the load of both hosts, then try"
                                + " again");
    }

    private static SslContext build(SslContextBuilder builder, PeerIdentity identity) {
        GRPC.setLevel(Level.SEVERE);
        try {
            SslContext any = GrpcSslContexts.configure(builder, SslProvider.JDK)
                    .trustManager(identity.trustManager())
                    .protocols("TLSv1.3")
                    .build();
            return new DelegatingSslContext(any) {
                @Override
                protected void initEngine(SSLEngine engine) {
                    SSLParameters parameters = engine.getSSLParameters();
                    parameters.setNamedGroups(KEY_EXCHANGE);
                    engine.setSSLParameters(parameters);
                }
            };
        } catch (SSLException e) {
            throw new IllegalStateException("this JDK lacks TLS 1.3", e);
        }
    }
}
