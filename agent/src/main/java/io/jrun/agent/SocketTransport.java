package io.jrun.agent;

import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.jrun.agent.job.JobService;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.function.Consumer;

/** The only class that names the network library, so that an agent inside the launcher never loads it. */
final class SocketTransport {
    private SocketTransport() {}

    static Server start(int port, AgentSecret secret, JobService service, Consumer<String> log) throws IOException {
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        return NettyServerBuilder.forAddress(address)
                .addService(ServerInterceptors.intercept(service, secret.server(log)))
                .build()
                .start();
    }
}
