package io.jrun.agent;

import io.grpc.Attributes;
import io.grpc.Grpc;
import io.grpc.ServerTransportFilter;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import io.grpc.netty.shaded.io.netty.channel.ServerChannel;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/** Reports each new connection to a {@link HandshakeLimiter} before anything is read from the connection. Stateless. */
final class HandshakeFilter {
    /** Longest time of a handshake. */
    static final long PROOF_SECONDS = 10;

    /** Limit of concurrent calls. A launcher has three calls for a job, on one connection. */
    private static final int MAX_CALLS = 64;

    private HandshakeFilter() {}

    /** Lets {@code limiter} bound the connections of a server that have not completed the TLS handshake. */
    static void guard(NettyServerBuilder builder, HandshakeLimiter limiter) {
        builder.bossEventLoopGroup(NetworkSockets.ACCEPTING)
                .workerEventLoopGroup(NetworkSockets.SERVING)
                .channelFactory(() -> listener(limiter))
                .handshakeTimeout(PROOF_SECONDS, TimeUnit.SECONDS)
                .maxConcurrentCallsPerConnection(MAX_CALLS)
                .addTransportFilter(new ServerTransportFilter() {
                    @Override
                    public Attributes transportReady(Attributes transport) {
                        if (transport.get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR) instanceof InetSocketAddress caller) {
                            limiter.forget(caller);
                        }
                        return transport;
                    }
                });
    }

    /**
     * A socket, not yet bound, that reports its connections to {@code limiter}, and closes those without an address.
     */
    static ServerChannel listener(HandshakeLimiter limiter) {
        ServerChannel channel = NetworkSockets.listener();
        channel.pipeline().addFirst(new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext context, Object accepted) {
                Channel caller = (Channel) accepted;
                if (!(caller.remoteAddress() instanceof InetSocketAddress address)) {
                    caller.unsafe().closeForcibly();
                    return;
                }
                limiter.admit(address, () -> {
                    var _ = caller.close();
                });
                var _ = caller.closeFuture().addListener(_ -> limiter.forget(address));
                caller.pipeline().addFirst(new FirstBytes(() -> limiter.bytesReceived(address)));
                context.fireChannelRead(accepted);
            }
        });
        return channel;
    }

    /** Reports the first bytes of a connection, then leaves the pipeline. */
    private static final class FirstBytes extends ChannelInboundHandlerAdapter {
        private final Runnable onFirstBytes;

        FirstBytes(Runnable onFirstBytes) {
            this.onFirstBytes = onFirstBytes;
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object bytes) {
            onFirstBytes.run();
            context.fireChannelRead(bytes);
            context.pipeline().remove(this);
        }
    }
}
