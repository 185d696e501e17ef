package io.jrun.agent;

import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelFuture;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import io.grpc.netty.shaded.io.netty.channel.ChannelOutboundHandlerAdapter;
import io.grpc.netty.shaded.io.netty.channel.ChannelPromise;
import io.grpc.netty.shaded.io.netty.channel.ServerChannel;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContext;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslHandler;
import io.grpc.netty.shaded.io.netty.util.concurrent.Future;
import io.jrun.agent.job.LocalAddress;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Accepts the connections of a job's agents to the launcher. The launcher is always the gRPC client and the agent the
 * gRPC server, whichever side opens the connection. Each accepted connection therefore becomes a channel to the agent
 * at its other end, see {@link DialingServer}. The connection uses TLS with a secret that only the agents of the job
 * know. Thread-safe.
 */
public final class AgentListener implements AutoCloseable {
    /** Longest wait for the calls that are left when the listener ends: those of agents that were just refused. */
    private static final long CLOSE_MILLIS = 500;

    /** Pause after a failed accept, for example because this process has no file descriptor left. */
    private static final long ACCEPT_PAUSE_MILLIS = 100;

    private final ServerChannel socket;
    private final SslContext tls;
    private final AgentSecret secret;
    private final HandshakeLimiter limiter;
    private final RefusalLog refusals;
    private final Consumer<DialedAgent> onAgent;
    private final Set<ManagedChannel> channels = ConcurrentHashMap.newKeySet();

    /**
     * An agent that has connected and has proved by TLS that it knows the secret.
     *
     * @param channel to the agent; the owner closes it
     * @param address the numeric address of the agent's end of the connection
     */
    public record DialedAgent(ManagedChannel channel, String address) {}

    private AgentListener(AgentSecret secret, Consumer<DialedAgent> onAgent, RefusalLog refusals) {
        this.tls = TlsContext.server(secret.identity());
        this.secret = secret;
        this.onAgent = onAgent;
        this.refusals = refusals;
        this.limiter = HandshakeLimiter.ofLauncher(refusals);
        this.socket = HandshakeFilter.listener(limiter);
        socket.pipeline().addLast(new Accepting());
    }

    /**
     * Listens at {@code address}.
     *
     * @param address the address; port 0 for any free port
     * @param onAgent receives each agent; must not block
     * @param log receives one line about refused callers
     */
    public static AgentListener listen(
            InetSocketAddress address, AgentSecret secret, Consumer<DialedAgent> onAgent, Consumer<String> log)
            throws IOException {
        AgentListener listener = new AgentListener(secret, onAgent, RefusalLog.open(log));
        try {
            await(NetworkSockets.ACCEPTING.register(listener.socket));
            await(listener.socket.bind(address));
            return listener;
        } catch (IOException e) {
            listener.close();
            throw e;
        }
    }

    private static void await(ChannelFuture step) throws IOException {
        var _ = step.awaitUninterruptibly();
        Throwable problem = step.cause();
        if (problem != null) {
            throw new IOException(ErrorCauses.words(problem), problem);
        }
    }

    /** The port on which this object listens. */
    public int port() {
        return ((InetSocketAddress) socket.localAddress()).getPort();
    }

    /** Stops listening, and keeps the connections of the agents that have connected. The port is free afterwards. */
    public void stopListening() {
        socket.close().awaitUninterruptibly(CLOSE_MILLIS);
    }

    /** Stops listening, and ends the remaining calls. */
    @Override
    public void close() {
        stopListening();
        refusals.close();
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(CLOSE_MILLIS);
        List<ManagedChannel> open = List.copyOf(channels);
        open.forEach(ManagedChannel::shutdown);
        try {
            for (ManagedChannel channel : open) {
                boolean _ = channel.awaitTermination(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        open.forEach(ManagedChannel::shutdownNow);
    }

    /** Makes a channel from each connection. */
    private final class Accepting extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object accepted) {
            open((Channel) accepted);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable problem) {
            context.channel().config().setAutoRead(false);
            var _ = context.executor()
                    .schedule(
                            () -> context.channel().config().setAutoRead(true),
                            ACCEPT_PAUSE_MILLIS,
                            TimeUnit.MILLISECONDS);
        }
    }

    /**
     * Makes the channel before the handshake, because the library must register the connection. A peer without the
     * secret never receives a call.
     */
    private void open(Channel connection) {
        InetSocketAddress caller = (InetSocketAddress) connection.remoteAddress();
        SslHandler handshake = tls.newHandler(connection.alloc());
        handshake.setHandshakeTimeout(HandshakeFilter.PROOF_SECONDS, TimeUnit.SECONDS);
        connection.pipeline().addLast(new Connected(), handshake);
        ManagedChannel channel = channelOver(connection, numeric(caller));
        channels.add(channel);
        var _ = connection.closeFuture().addListener(_ -> {
            channels.remove(channel);
            channel.shutdown();
        });
        var _ = handshake.handshakeFuture().addListener(done -> handshakeDone(done, caller, channel));
        var _ = channel.getState(true); // connects
    }

    private void handshakeDone(Future<?> done, InetSocketAddress caller, ManagedChannel channel) {
        if (done.isSuccess()) {
            limiter.forget(caller);
            onAgent.accept(new DialedAgent(channel, numeric(caller)));
        } else {
            refusals.refused(RefusalLog.NO_PROOF);
        }
    }

    /** The address without the name of the interface, which has no meaning on another machine. */
    private static String numeric(InetSocketAddress address) {
        return address.getAddress().getHostAddress().replaceFirst("%.*", "");
    }

    /**
     * The library connects a channel once, and again after the end of the connection. The second attempt fails, because
     * only the agent can open a connection.
     */
    private ManagedChannel channelOver(Channel connection, String address) {
        Queue<Channel> connections = new ConcurrentLinkedQueue<>(List.of(connection));
        NettyChannelBuilder builder = NettyChannelBuilder.forAddress(connection.remoteAddress())
                .overrideAuthority("agent")
                .channelFactory(() -> {
                    Channel next = connections.poll();
                    return next == null ? ended() : next;
                })
                .eventLoopGroup(NetworkSockets.SERVING)
                .usePlaintext() // the connection's own TLS handler lies below
                .proxyDetector(_ -> null)
                .disableRetry()
                .maxInboundMessageSize(SocketTransport.MAX_MESSAGE_BYTES);
        NetworkSockets.keepAlive().forEach(builder::withOption);
        return builder.intercept(secret.client(), LocalAddress.header(address)).build();
    }

    private static Channel ended() {
        Channel channel = NetworkSockets.socket();
        channel.pipeline().addLast(new CloseOnEnd());
        return channel;
    }

    /** Reports to the library, which requests a connection, that the connection is open. */
    private static final class Connected extends ChannelOutboundHandlerAdapter {
        @Override
        public void connect(
                ChannelHandlerContext context, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            var _ = promise.setSuccess();
        }
    }

    /** Reports to the library that the launcher cannot connect to the agent. */
    private static final class CloseOnEnd extends ChannelOutboundHandlerAdapter {
        @Override
        public void connect(
                ChannelHandlerContext context, SocketAddress remote, SocketAddress local, ChannelPromise promise) {
            var _ = promise.setFailure(new ConnectException("the agent's connection has ended"));
            var _ = context.close();
        }
    }
}
