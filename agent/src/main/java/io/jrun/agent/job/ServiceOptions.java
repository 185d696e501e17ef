package io.jrun.agent.job;

import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.worker.AgentOptions;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The options with which an agent serves its launchers.
 *
 * @param workers value of {@code --nproc-per-node} for this node; empty for the value of the launcher
 * @param console prints the output of this node's workers in this process, each chunk before it returns; empty if the
 *     launcher prints the output
 * @param listener receives the ends of jobs
 */
public record ServiceOptions(
        AgentOptions agent, String workers, Optional<Consumer<LogChunk>> console, JobListener listener) {
    /** For an agent without settings of its own. */
    public static ServiceOptions of(AgentOptions agent) {
        return new ServiceOptions(agent, "", Optional.empty(), JobListener.NONE);
    }
}
