package io.jrun.agent;

import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.ServerChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollChannelOption;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollIoHandler;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.nio.NioIoHandler;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioServerSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioSocketChannel;
import io.grpc.netty.shaded.io.netty.util.concurrent.DefaultThreadFactory;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The sockets of the network library, their options and their threads. The first use creates the threads. Stateless.
 */
final class NetworkSockets {
    /** The thread that accepts connections. */
    static final EventLoopGroup ACCEPTING = group("jrun-agent-accept", 1);

    /** The threads that read and write connections. */
    static final EventLoopGroup SERVING =
            group("jrun-agent-net", Runtime.getRuntime().availableProcessors());

    /**
     * The kernel sends a probe to a silent host after 2 s, and ends the connection 6 s later. The kernel of the peer
     * answers the probes, so a stopped process (Ctrl-Z) does not count as lost.
     */
    private static final int PROBE_SECONDS = 2;

    private static final int PROBES = 3;
    private static final int LOST_MILLIS = 1000 * PROBE_SECONDS * (PROBES + 1);

    private NetworkSockets() {}

    private static EventLoopGroup group(String name, int threads) {
        return new MultiThreadIoEventLoopGroup(
                threads,
                new DefaultThreadFactory(name, true),
                Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
    }

    /** A socket that is not bound. */
    static ServerChannel listener() {
        return Epoll.isAvailable() ? new EpollServerSocketChannel() : new NioServerSocketChannel();
    }

    /** A socket that is not connected. */
    static Channel socket() {
        return Epoll.isAvailable() ? new EpollSocketChannel() : new NioSocketChannel();
    }

    /**
     * Options of each connection by which the kernel notices a lost host. Options found by name are for epoll alone.
     */
    static Map<ChannelOption<Object>, Object> keepAlive() {
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

    @SuppressWarnings("unchecked") // the caller gives an option and a value of its type
    private static <T> void put(Map<ChannelOption<Object>, Object> options, ChannelOption<T> option, T value) {
        options.put((ChannelOption<Object>) option, value);
    }
}
