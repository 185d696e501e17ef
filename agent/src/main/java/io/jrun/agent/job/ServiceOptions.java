package io.jrun.agent.job;

import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.worker.AgentOptions;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * How an agent serves its launchers.
 *
 * @param workers how many workers this node shall have, as {@code --nproc-per-node} has it; empty for what the launcher
 *     says
 * @param console shows the output of this node's workers in this process; empty if the launcher shows the output. It
 *     shows a chunk before it returns.
 * @param listener hears how jobs end
 */
public record ServiceOptions(
        AgentOptions agent, String workers, Optional<Consumer<LogChunk>> console, JobListener listener) {
    /** For an agent that leaves everything to the launcher. */
    public static ServiceOptions of(AgentOptions agent) {
        return new ServiceOptions(agent, "", Optional.empty(), JobListener.NONE);
    }
}
