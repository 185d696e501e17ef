package io.jrun.launcher.coordinator;

import io.grpc.Channel;

/**
 * One node's agent, before anything is known about the node.
 *
 * @param where how messages name it, "h2:29600"; empty for the agent inside this process
 */
public record Agent(String where, Channel channel) {}
