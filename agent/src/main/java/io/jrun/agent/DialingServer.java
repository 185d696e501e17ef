package io.jrun.agent;

import io.grpc.BindableService;
import io.grpc.Server;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.AbstractServerChannel;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelConfig;
import io.grpc.netty.shaded.io.netty.channel.ChannelFuture;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import io.grpc.netty.shaded.io.netty.channel.DefaultChannelConfig;
import io.grpc.netty.shaded.io.netty.channel.EventLoop;
import io.grpc.netty.shaded.io.netty.channel.local.LocalAddress;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslHandler;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLParameters;

/**
 * A gRPC server that opens the connections to its client, an {@link AgentListener}, and serves calls on them.
 * Thread-safe.
 */
final class DialingServer implements AutoCloseable {
    private static final long CLOSE_SECONDS = 2;

    private final SslContext tls;
    private final DialedConnections connections;
    private final Server server;

    private DialingServer(SslContext tls, DialedConnections connections, Server server) {
        this.tls = tls;
        this.connections = connections;
        this.server = server;
    }

    /** A server without connections. */
    static DialingServer start(
            AgentSecret secret, List<? extends BindableService> services, ServerInterceptor calls, RefusalLog refusals)
            throws IOException {
        DialedConnections connections = new DialedConnections();
        NettyServerBuilder builder = NettyServerBuilder.forAddress(new LocalAddress("jrun-dialed"))
                .channelFactory(() -> connections)
                .bossEventLoopGroup(NetworkSockets.ACCEPTING)
                .workerEventLoopGroup(NetworkSockets.SERVING)
                .maxInboundMessageSize(SocketTransport.MAX_MESSAGE_BYTES);
        services.forEach(
                service -> builder.addService(ServerInterceptors.intercept(service, calls, secret.server(refusals))));
        NetworkSockets.keepAlive().forEach(builder::withChildOption);
        return new DialingServer(
                TlsContext.client(secret.identity()),
                connections,
                builder.build().start());
    }

    /** One connection. {@link #close} ends its calls. */
    record DialedConnection(Channel channel) implements AutoCloseable {
        @Override
        public void close() {
            var _ = channel.close();
        }
    }

    /**
     * Opens a connection and serves it.
     *
     * @param host of the other side: a numeric address or a name, which a certificate of the other side must have
     * @param limit longest time for the connection, without the TLS handshake
     * @return completes when the other side has proved that it knows the secret
     */
    CompletableFuture<DialedConnection> dial(String host, int port, Duration limit) {
        InetSocketAddress address = new InetSocketAddress(host, port);
        if (address.isUnresolved()) {
            return CompletableFuture.failedFuture(
                    new UnknownHostException("this machine does not know the host '" + host + "'"));
        }
        CompletableFuture<DialedConnection> proved = new CompletableFuture<>();
        Channel channel = NetworkSockets.socket();
        channel.config().setConnectTimeoutMillis(Math.toIntExact(limit.toMillis()));
        SslHandler handshake = handshake(channel, host, port);
        channel.pipeline().addLast(new Connecting(address, proved), handshake);
        var _ = handshake.handshakeFuture().addListener(done -> {
            if (done.isSuccess()) {
                proved.complete(new DialedConnection(channel));
            } else {
                proved.completeExceptionally(done.cause());
            }
        });
        connections.pipeline().fireChannelRead(channel);
        return proved;
    }

    private SslHandler handshake(Channel channel, String name, int port) {
        SslHandler handler = tls.newHandler(channel.alloc(), name, port);
        SSLParameters parameters = handler.engine().getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS"); // the name is compared with that of the certificate
        handler.engine().setSSLParameters(parameters);
        handler.setHandshakeTimeout(HandshakeFilter.PROOF_SECONDS, TimeUnit.SECONDS);
        return handler;
    }

    /** Sends the queued messages and ends all connections. Takes a few seconds at most. */
    @Override
    public void close() {
        server.shutdown();
        try {
            if (!server.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                server.shutdownNow();
            }
        } catch (InterruptedException e) {
            server.shutdownNow();
            Thread.currentThread().interrupt();
        }
    }

    /** Connects as soon as the server has prepared the connection. */
    private static final class Connecting extends ChannelInboundHandlerAdapter {
        private final SocketAddress address;
        private final CompletableFuture<DialedConnection> proved;

        Connecting(SocketAddress address, CompletableFuture<DialedConnection> proved) {
            this.address = address;
            this.proved = proved;
        }

        @Override
        public void channelRegistered(ChannelHandlerContext context) {
            context.fireChannelRegistered();
            var _ = context.channel().connect(address).addListener((ChannelFuture done) -> {
                if (!done.isSuccess()) {
                    proved.completeExceptionally(done.cause());
                    var _ = done.channel().close();
                }
            });
        }
    }

    /** Replaces the listening socket, which this server does not have. The connections come from {@link #dial}. */
    private static final class DialedConnections extends AbstractServerChannel {
        private final ChannelConfig config = new DefaultChannelConfig(this);
        private volatile SocketAddress address = LocalAddress.ANY;
        private volatile boolean bound;
        private volatile boolean open = true;

        @Override
        protected boolean isCompatible(EventLoop loop) {
            return true;
        }

        @Override
        protected SocketAddress localAddress0() {
            return address;
        }

        @Override
        protected void doBind(SocketAddress local) {
            address = local;
            bound = true;
        }

        @Override
        protected void doBeginRead() {
            // connections are not accepted
        }

        @Override
        protected void doClose() {
            open = false;
        }

        @Override
        public ChannelConfig config() {
            return config;
        }

        @Override
        public boolean isOpen() {
            return open;
        }

        @Override
        public boolean isActive() {
            return open && bound;
        }
    }
}
