package io.jrun.launcher.coordinator;

import io.grpc.Channel;
import io.grpc.ManagedChannel;
import java.util.concurrent.CompletableFuture;

/** To a standing agent, or to the agent inside this process: the channel connects by itself. */
public record DirectRoute(ManagedChannel channel) implements AgentRoute {
    @Override
    public CompletableFuture<Channel> connect() {
        channel.resetConnectBackoff();
        return CompletableFuture.completedFuture(channel);
    }

    @Override
    public void giveUp(String why) {
        // the control call has said so, and the agent stands for other jobs
    }

    @Override
    public boolean isOpenedByAgent() {
        return false;
    }
}
