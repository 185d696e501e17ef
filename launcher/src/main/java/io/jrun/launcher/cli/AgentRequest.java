package io.jrun.launcher.cli;

import io.jrun.agent.LauncherAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Stream;

/** What {@code jrun agent} was asked for. */
public sealed interface AgentRequest {
    /** Not in use by anything that is registered, and near torchrun's own ports; {@code --agent-port} has it too. */
    int DEFAULT_PORT = 29_600;

    /** Reached from this machine only. */
    String DEFAULT_HOST = "127.0.0.1";

    /** All addresses of this machine. */
    String ANY_HOST = "0.0.0.0";

    /**
     * To stand and listen.
     *
     * @param host the address to listen at: a name or a numeric address
     * @param port 0 for any free one
     * @param secretFile made, with a new secret, if it does not exist
     */
    record Listen(String host, int port, Path secretFile) implements AgentRequest {}

    /** To dial a launcher and serve its one job. */
    record GoHome(List<LauncherAddress> homes, String node) implements AgentRequest {
        public GoHome {
            homes = List.copyOf(homes);
        }
    }

    /**
     * Reads the command line.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    static AgentRequest of(ParsedCommand line, CommandContext commandContext) {
        return line.value(CommandOption.HOME)
                .<AgentRequest>map(launchers -> goHome(launchers, line))
                .orElseGet(() -> listen(line, commandContext));
    }

    private static GoHome goHome(String launchers, ParsedCommand line) {
        if (line.has(CommandOption.LISTEN) || line.has(CommandOption.AGENT_SECRET_FILE)) {
            throw new UsageException(
                    "jrun agent --home listens nowhere and reads its secret on stdin; leave --listen and"
                            + " --secret-file out.");
        }
        String node = line.value(CommandOption.NODE).orElse("");
        if (node.isEmpty()) {
            throw new UsageException("jrun agent --home needs --node NAME, what the launcher calls this node.");
        }
        return new GoHome(
                Stream.of(launchers.split(",", -1))
                        .map(part -> HostAndPort.parse(part, CommandOption.HOME.longName(), OptionalInt.empty()))
                        .toList(),
                node);
    }

    private static Listen listen(ParsedCommand line, CommandContext commandContext) {
        LauncherAddress address = HostAndPort.parse(
                line.value(CommandOption.LISTEN).orElse(DEFAULT_HOST),
                CommandOption.LISTEN.longName(),
                OptionalInt.of(DEFAULT_PORT));
        String secret = line.value(CommandOption.AGENT_SECRET_FILE).orElse("");
        return new Listen(
                address.host().isEmpty() ? ANY_HOST : address.host(),
                address.port(),
                secret.isEmpty() ? SecretPath.standard(commandContext) : commandContext.resolve(secret));
    }
}
