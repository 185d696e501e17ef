package io.jrun.agent.worker;

import io.jrun.agent.node.NodeResources;
import io.jrun.agent.proto.LaunchRound;
import java.nio.file.Path;
import java.util.Map;

/**
 * The facts of a node with which it composes the commands and environments of its workers from a coordinator's {@code
 * Launch}.
 *
 * @param node the machine
 * @param options the installation
 * @param runId the job's name
 * @param runLogDir the log folder of the job on this node as an absolute path, LOG_DIR/RUN_ID
 * @param socket the agent's unix-domain socket
 * @param inherited the environment that workers inherit
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

    /** The CPUs of the workers. Reads /proc and /sys. */
    public WorkerBinding binding() {
        return WorkerBinding.here(node.gpus(), inherited);
    }

    /** Pads to four digits, without the formatter, whose first use takes some milliseconds. */
    private static String padded(int rank) {
        String digits = Integer.toString(rank);
        return "0".repeat(Math.max(0, 4 - digits.length())) + digits;
    }

    /**
     * Returns the log folder of a process that begins in this round as {@code rank}: {@code attempt-0/rank-0003}. Each
     * round has an attempt of its own. A process that continues from an earlier round keeps its files, also if another
     * process has its old rank.
     */
    public Path rankLogDir(LaunchRound launch, int rank) {
        return runLogDir.resolve("attempt-" + (launch.getRound() - 1)).resolve("rank-" + padded(rank));
    }
}
