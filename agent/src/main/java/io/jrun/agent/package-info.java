/**
 * One agent per node: it starts, watches and stops that node's workers for a coordinator. Entry: {@link
 * io.jrun.agent.AgentServer}; the protocol is {@code agent.proto}.
 */
@NullMarked
package io.jrun.agent;

import org.jspecify.annotations.NullMarked;
