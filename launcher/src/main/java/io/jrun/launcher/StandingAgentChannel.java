package io.jrun.launcher;

import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.jrun.launcher.cli.UsageException;
import io.jrun.launcher.job.JobSpec.StandingAgent;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/** The line to a standing agent; the only class of the launcher that names the network library. */
final class StandingAgentChannel {
    private StandingAgentChannel() {}

    /** A channel that shows the secret with every call. It is plain text, so it must not leave the loopback interface. */
    static Channel open(StandingAgent agent) {
        ManagedChannel channel = NettyChannelBuilder.forAddress(new InetSocketAddress(loopback(agent), agent.port()))
                .usePlaintext()
                .build();
        return ClientInterceptors.intercept(
                channel, SecretFile.read(agent.secretFile()).client());
    }

    private static InetAddress loopback(StandingAgent agent) {
        try {
            InetAddress address = InetAddress.getByName(agent.host());
            if (address.isLoopbackAddress()) {
                return address;
            }
            throw new UsageException("--agent: " + agent.host()
                    + " is another machine; this version of jrun reaches agents on 127.0.0.1 only.");
        } catch (UnknownHostException e) {
            throw new UsageException("--agent: the host '" + agent.host() + "' is unknown. Use 127.0.0.1:PORT.");
        }
    }
}
