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
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollChannelOption;
import io.grpc.netty.shaded.io.netty.handler.ssl.ClientAuth;
import io.grpc.netty.shaded.io.netty.handler.ssl.DelegatingSslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslHandshakeTimeoutException;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslProvider;
import io.jrun.agent.tls.PeerIdentity;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;

/**
 * Connections between launchers and standing agents: gRPC over TLS 1.3, in which both sides prove that they know the secret.
 * This and {@link HandshakeFilter} alone name the network library, so that an agent inside the launcher never loads it.
 */
public final class SocketTransport {
    /**
     * The kernel asks a silent host after 2 s, and gives it up 6 s later. Kernels answer each other, so that a stopped
     * process (Ctrl-Z) is not taken for a lost one.
     */
    private static final int PROBE_SECONDS = 2;

    private static final int PROBES = 3;
    private static final int LOST_MILLIS = 1000 * PROBE_SECONDS * (PROBES + 1);

    /** The peers of 100,000 ranks, under 100 bytes each, take a sixth; who is let in at all knows the secret. */
    private static final int MAX_MESSAGE_BYTES = 64 << 20;

    /** All peers have it; else a launcher's hello would carry a key of P-256, too, which takes it 100 ms to make. */
    private static final String[] KEY_EXCHANGE = {"x25519"};

    /** What it warns of, with stacks, reaches us as the status of a call. Held here, since loggers are garbage otherwise. */
    private static final Logger GRPC = Logger.getLogger("io.grpc");

    private final SslContext tls;
    private final AgentSecret secret;

    private SocketTransport(SslContext tls, AgentSecret secret) {
        this.tls = tls;
        this.secret = secret;
    }

    /** Ways to agents that share {@code secret}; opens nothing. */
    public static SocketTransport to(AgentSecret secret) {
        return new SocketTransport(
                build(SslContextBuilder.forClient().keyManager(secret.identity().keyManager()), secret), secret);
    }

    /**
     * A channel to the agent at {@code host}, a name or a numeric address. It connects with its first call; when the agent has
     * another secret, that call fails with an {@code UnknownPeerException} among its causes.
     */
    public ManagedChannel channel(String host, int port) {
        return builder(host, port).build();
    }

    /** The same, which gives up connecting after {@code limit}: for one address of several. */
    ManagedChannel channel(String host, int port, Duration limit) {
        return builder(host, port)
                .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, Math.toIntExact(limit.toMillis()))
                .build();
    }

    private NettyChannelBuilder builder(String host, int port) {
        NettyChannelBuilder builder = NettyChannelBuilder.forAddress(host, port)
                .sslContext(tls)
                .proxyDetector(_ -> null) // a proxy for web pages is none for agents
                .maxInboundMessageSize(MAX_MESSAGE_BYTES);
        keepAlive().forEach(builder::withOption);
        return builder.intercept(secret.client(), new LateHandshake());
    }

    /** Explains a limit that busy machines can hit, and of which the network library only names the milliseconds. */
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
                                    super.onClose(explained(status), trailers);
                                }
                            },
                            headers);
                }
            };
        }

        private static Status explained(Status status) {
            return ErrorCauses.find(status, SslHandshakeTimeoutException.class).isEmpty()
                    ? status
                    : Status.UNAVAILABLE.withDescription(
                            "the TLS handshake did not end within 10 s; one of the two hosts or the network between them"
                                    + " is too busy, or the process there stands still: look at their load, then try again");
        }
    }

    /** @param calls sees the calls that have shown the secret */
    static Server listen(
            InetSocketAddress address,
            AgentSecret secret,
            List<? extends BindableService> services,
            ServerInterceptor calls,
            HandshakeLimiter limiter)
            throws IOException {
        PeerIdentity identity = secret.identity();
        NettyServerBuilder builder = NettyServerBuilder.forAddress(address)
                .sslContext(build(
                        SslContextBuilder.forServer(identity.keyManager()).clientAuth(ClientAuth.REQUIRE), secret))
                .maxInboundMessageSize(MAX_MESSAGE_BYTES);
        services.forEach(service ->
                builder.addService(ServerInterceptors.intercept(service, calls, secret.server(limiter.log()))));
        keepAlive().forEach(builder::withChildOption);
        HandshakeFilter.guard(builder, limiter);
        return builder.build().start();
    }

    private static SslContext build(SslContextBuilder builder, AgentSecret secret) {
        GRPC.setLevel(Level.SEVERE);
        try {
            SslContext any = GrpcSslContexts.configure(builder, SslProvider.JDK)
                    .trustManager(secret.identity().trustManager())
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

    /** Options that are found by name are for netty's epoll transport alone. */
    private static Map<ChannelOption<Object>, Object> keepAlive() {
        Map<ChannelOption<Object>, Object> options = new LinkedHashMap<>();
        put(options, ChannelOption.SO_KEEPALIVE, true);
        if (Epoll.isAvailable()) {
            put(options, EpollChannelOption.TCP_KEEPIDLE, PROBE_SECONDS);
            put(options, EpollChannelOption.TCP_KEEPINTVL, PROBE_SECONDS);
            put(options, EpollChannelOption.TCP_KEEPCNT, PROBES);
            put(options, EpollChannelOption.TCP_USER_TIMEOUT, LOST_MILLIS); // data under way stops the probes
        }
        return options;
    }

    @SuppressWarnings("unchecked") // an option and its value come in one call
    private static <T> void put(Map<ChannelOption<Object>, Object> options, ChannelOption<T> option, T value) {
        options.put((ChannelOption<Object>) option, value);
    }
}
