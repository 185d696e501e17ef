package io.jrun.launcher.coordinator;

import io.grpc.Channel;
import java.util.concurrent.CompletableFuture;

/** How the launcher reaches the agent of one node. Thread-safe; no method waits. */
public interface AgentRoute {
    /**
     * A channel to the agent, as soon as the agent is there. Each call after the first one asks for an agent in the place of one
     * that was lost. The future fails with a {@code StatusRuntimeException} if the agent will not come.
     */
    CompletableFuture<Channel> connect();

    /** The launcher does without this agent, until it connects again. */
    void giveUp(String why);

    /**
     * Whether the agent has opened the connection. Such a connection cannot be opened again from here; to one that the launcher
     * opens, a busy agent may close the connection before the agent knows who calls.
     */
    boolean isOpenedByAgent();
}
