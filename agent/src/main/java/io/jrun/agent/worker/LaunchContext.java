package io.jrun.agent.worker;

import io.jrun.agent.node.NodeResources;
import io.jrun.agent.proto.Launch;
import java.nio.file.Path;
import java.util.Map;

/**
 * What a node adds to a coordinator's {@code Launch} when it composes its workers' commands and environments.
 *
 * @param node the machine
 * @param options the installation
 * @param runId the job's name
 * @param runLogDir absolute; the job's log folder on this node, LOG_DIR/RUN_ID
 * @param socket the agent's unix-domain socket
 * @param inherited the environment that workers start from
 */
public record LaunchContext(
        NodeResources node,
        AgentOptions options,
        String runId,
        Path runLogDir,
        Path socket,
        Map<String, String> inherited) {
    /** Copies the map. */
    public LaunchContext {
        inherited = Map.copyOf(inherited);
    }

    /** Four digits or more. Without the formatter, whose first use costs the start of every job some milliseconds. */
    private static String padded(int rank) {
        String digits = Integer.toString(rank);
        return "0".repeat(Math.max(0, 4 - digits.length())) + digits;
    }

    /**
     * Where everything about a process that begins in this round as {@code rank} is written: {@code attempt-0/rank-0003}. Each
     * round has an attempt of its own: a process that goes on from an earlier one keeps its files, also where its rank is now
     * another's.
     */
    public Path rankLogDir(Launch launch, int rank) {
        return runLogDir.resolve("attempt-" + (launch.getRound() - 1)).resolve("rank-" + padded(rank));
    }
}
