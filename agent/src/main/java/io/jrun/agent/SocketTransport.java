package io.jrun.agent;

import io.grpc.BindableService;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;

/**
 * Connections from launchers to standing agents: gRPC over TLS 1.3, in which both sides prove that they know the
 * secret. For connections that agents open see {@link AgentListener}. An agent inside the launcher never loads the
 * network library.
 */
public final class SocketTransport {
    /**
     * The peers of 100,000 ranks, under 100 bytes each, take a sixth. Only callers that know the secret can send a
     * message.
     */
    static final int MAX_MESSAGE_BYTES = 64 << 20;

    private final SslContext tls;
    private final AgentSecret secret;

    private SocketTransport(AgentSecret secret) {
        this.tls = TlsContext.client(secret.identity());
        this.secret = secret;
    }

    /** Ways to agents that share {@code secret}; opens nothing. */
    public static SocketTransport to(AgentSecret secret) {
        return new SocketTransport(secret);
    }

    /**
     * A channel to the agent at {@code host}, a name or a numeric address. It connects with its first call; when the
     * agent has another secret, that call fails with an {@code UnknownPeerException} among its causes.
     */
    public ManagedChannel channel(String host, int port) {
        return builder(host, port).build();
    }

    /** The same, with a limit on the time to connect. */
    ManagedChannel channel(String host, int port, Duration limit) {
        return builder(host, port)
                .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, Math.toIntExact(limit.toMillis()))
                .build();
    }

    private NettyChannelBuilder builder(String host, int port) {
        NettyChannelBuilder builder = NettyChannelBuilder.forAddress(host, port)
                .sslContext(tls)
                .proxyDetector(_ -> null) // agents do not use the proxy for web pages
                .maxInboundMessageSize(MAX_MESSAGE_BYTES);
        NetworkSockets.keepAlive().forEach(builder::withOption);
        return builder.intercept(secret.client(), new LateHandshake());
    }

    /** Explains the limit of the handshake, of which the network library names only the milliseconds. */
    private static final class LateHandshake implements ClientInterceptor {
        @Override
        public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
            return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
                @Override
                public void start(Listener<R> listener, Metadata headers) {
                    super.start(
                            new SimpleForwardingClientCallListener<>(listener) {
                                @Override
                                public void onClose(Status status, Metadata trailers) {
                                    super.onClose(TlsContext.withHandshakeLimit(status), trailers);
                                }
                            },
                            headers);
                }
            };
        }
    }

    /** @param calls sees the calls that carry the token of the secret */
    static Server listen(
            InetSocketAddress address,
            AgentSecret secret,
            List<? extends BindableService> services,
            ServerInterceptor calls,
            HandshakeLimiter limiter)
            throws IOException {
        NettyServerBuilder builder = NettyServerBuilder.forAddress(address)
                .sslContext(TlsContext.server(secret.identity()))
                .maxInboundMessageSize(MAX_MESSAGE_BYTES);
        services.forEach(service ->
                builder.addService(ServerInterceptors.intercept(service, calls, secret.server(limiter.log()))));
        NetworkSockets.keepAlive().forEach(builder::withChildOption);
        HandshakeFilter.guard(builder, limiter);
        return builder.build().start();
    }
}
