package io.jrun.launcher.coordinator;

import io.grpc.Channel;
import io.grpc.ManagedChannel;
import java.util.concurrent.CompletableFuture;

/** The route to a standing agent, or to the agent inside this process: the gRPC channel connects by itself. */
public record DirectRoute(ManagedChannel channel) implements AgentRoute {
    @Override
    public CompletableFuture<Channel> connect() {
        channel.resetConnectBackoff();
        return CompletableFuture.completedFuture(channel);
    }

    @Override
    public void release() {
        // the control call has released the agent, and a standing agent continues to serve other jobs
    }

    @Override
    public boolean isOpenedByAgent() {
        return false;
    }
}
