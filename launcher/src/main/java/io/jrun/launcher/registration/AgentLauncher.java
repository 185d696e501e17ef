package io.jrun.launcher.registration;

import java.util.List;

/** A way to start agents on hosts where none stands, one on each. */
public interface AgentLauncher {
    /**
     * What is to be run here so that some of the hosts get an agent; a pure function. Each of the nodes is in exactly
     * one of the starts.
     *
     * @param hosts of all nodes, by node rank, as the user named them
     * @param nodes which get an agent, by node rank
     */
    List<LaunchCommand> plan(List<String> hosts, List<Integer> nodes, JoinToken invitation);

    /** Why a start has ended before its agents came: a sentence's end, without a full stop. */
    default String explain(LaunchCommand start, LaunchExit ended) {
        String lines = ended.lastLines().isEmpty() ? "" : ": " + String.join("; ", ended.lastLines());
        return "its start ended with exit code " + ended.exitCode() + lines;
    }

    /**
     * One process on this machine that starts agents. It reads the invitation's secret as the first line of its stdin,
     * and hands stdin on to each agent; it must end by itself soon after its agents.
     *
     * @param name what messages call it: the host, or the program for several
     * @param nodes node ranks of the agents that it starts
     * @param command its words
     */
    record LaunchCommand(String name, List<Integer> nodes, List<String> command) {
        public LaunchCommand {
            nodes = List.copyOf(nodes);
            command = List.copyOf(command);
        }
    }

    /**
     * How a start ended.
     *
     * @param lastLines the last of what it wrote to stdout and stderr, a few at most
     */
    record LaunchExit(int exitCode, List<String> lastLines) {
        public LaunchExit {
            lastLines = List.copyOf(lastLines);
        }
    }
}
