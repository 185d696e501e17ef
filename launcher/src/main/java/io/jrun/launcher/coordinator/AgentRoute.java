package io.jrun.launcher.coordinator;

import io.grpc.Channel;
import java.util.concurrent.CompletableFuture;

/** The way from the launcher to the agent of one node. Thread-safe; no method blocks. */
public interface AgentRoute {
    /**
     * A channel to the agent, complete as soon as the agent has connected. Each call after the first requests a
     * replacement for a lost agent. The future fails with a {@code StatusRuntimeException} if no agent connects.
     */
    CompletableFuture<Channel> connect();

    /** The launcher releases this agent. A later {@link #connect} requests it again. */
    void release();

    /**
     * Whether the agent has opened the connection. The launcher cannot open such a connection again. If the launcher
     * opens the connection, a busy agent may close it before the launcher has authenticated.
     */
    boolean isOpenedByAgent();
}
