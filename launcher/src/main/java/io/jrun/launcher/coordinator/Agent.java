package io.jrun.launcher.coordinator;

import io.grpc.Channel;

/**
 * One node's agent, before anything is known about the node.
 *
 * @param where how messages name it, "h2:29600"; empty for the agent inside this process
 * @param isSeat whoever comes first takes it; else it is a host's alone
 */
public record Agent(String where, Channel channel, boolean isSeat) {
    /** A host's. */
    public Agent(String where, Channel channel) {
        this(where, channel, false);
    }
}
