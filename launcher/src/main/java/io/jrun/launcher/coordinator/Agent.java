package io.jrun.launcher.coordinator;

import io.grpc.ManagedChannel;

/**
 * One node's agent, before anything is known about the node.
 *
 * @param where the name of the agent in messages, "h2:29600"; empty for the agent inside this process
 * @param acceptsAnyNode whether an agent of any node may take the slot; otherwise the slot belongs to one host
 */
public record Agent(String where, AgentRoute route, boolean acceptsAnyNode) {
    /** The agent of a host, behind a channel. */
    public Agent(String where, ManagedChannel channel) {
        this(where, new DirectRoute(channel), false);
    }
}
