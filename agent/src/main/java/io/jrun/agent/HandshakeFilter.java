package io.jrun.agent;

import io.grpc.Attributes;
import io.grpc.Grpc;
import io.grpc.ServerTransportFilter;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.ServerChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollIoHandler;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.nio.NioIoHandler;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioServerSocketChannel;
import io.grpc.netty.shaded.io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/** Where callers come in: tells a {@link HandshakeLimiter} of each before anything is read from it. Stateless. */
final class HandshakeFilter {
    /** From the first byte to the end of the handshake. */
    private static final long PROOF_SECONDS = 10;

    /** A launcher has two calls for each of its jobs, on a connection of its own. */
    private static final int MAX_CALLS = 64;

    private HandshakeFilter() {}

    /** Tells {@code limiter} of every caller before anything is read from it, and of those who have come through TLS. */
    static void guard(NettyServerBuilder builder, HandshakeLimiter limiter) {
        builder.bossEventLoopGroup(Loops.ACCEPTING)
                .workerEventLoopGroup(Loops.SERVING)
                .channelFactory(() -> watched(
                        Epoll.isAvailable() ? new EpollServerSocketChannel() : new NioServerSocketChannel(), limiter))
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

    private static ServerChannel watched(ServerChannel channel, HandshakeLimiter limiter) {
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
                caller.pipeline().addFirst(new FirstBytes(() -> limiter.heard(address)));
                context.fireChannelRead(accepted);
            }
        });
        return channel;
    }

    /** Tells of the first bytes of a connection, then leaves its pipeline. */
    private static final class FirstBytes extends ChannelInboundHandlerAdapter {
        private final Runnable heard;

        FirstBytes(Runnable heard) {
            this.heard = heard;
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object bytes) {
            heard.run();
            context.fireChannelRead(bytes);
            context.pipeline().remove(this);
        }
    }

    /** Threads of all agents of this process, made by the first that listens; gRPC makes its own only where it accepts by itself. */
    private static final class Loops {
        static final EventLoopGroup ACCEPTING = group("jrun-agent-accept", 1);
        static final EventLoopGroup SERVING =
                group("jrun-agent-net", Runtime.getRuntime().availableProcessors());

        private static EventLoopGroup group(String name, int threads) {
            return new MultiThreadIoEventLoopGroup(
                    threads,
                    new DefaultThreadFactory(name, true),
                    Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
        }
    }
}
