package io.jrun.launcher.registration;

import java.util.List;

/** A way to start one agent on each of several hosts. */
public interface AgentLauncher {
    /**
     * The commands that this machine runs to start agents on some of the hosts; a pure function. Each node is in
     * exactly one command.
     *
     * @param hosts of all nodes, by node rank, as the user named them
     * @param nodes node ranks of the nodes that get an agent
     */
    List<LaunchCommand> plan(List<String> hosts, List<Integer> nodes, JoinToken joinToken);

    /** Why a process has ended before its agents arrived: the end of a sentence, without a full stop. */
    default String explain(LaunchCommand start, LaunchExit ended) {
        String lines = ended.lastLines().isEmpty() ? "" : ": " + String.join("; ", ended.lastLines());
        return "its start ended with exit code " + ended.exitCode() + lines;
    }

    /**
     * A command on this machine that starts agents. The process passes its stdin, whose first line is the secret of the
     * token, to each agent, and must end by itself soon after its agents.
     *
     * @param name the name in messages: the host, or the program for several hosts
     * @param nodes node ranks of the started agents
     * @param command the words of the command line
     */
    record LaunchCommand(String name, List<Integer> nodes, List<String> command) {
        public LaunchCommand {
            nodes = List.copyOf(nodes);
            command = List.copyOf(command);
        }
    }

    /**
     * The end of a process that started agents.
     *
     * @param lastLines the last lines of its stdout and stderr, a few at most
     */
    record LaunchExit(int exitCode, List<String> lastLines) {
        public LaunchExit {
            lastLines = List.copyOf(lastLines);
        }
    }
}
