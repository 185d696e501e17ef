package io.jrun.launcher.cli;

import io.jrun.agent.LauncherAddress;
import io.jrun.launcher.job.UsageException;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Stream;

/** The command line of {@code jrun agent}. */
public sealed interface AgentRequest {
    /** The default port, also of {@code --agent-port}. IANA has not registered it for another service. */
    int DEFAULT_PORT = 29_600;

    /** The default address. Only this machine can connect to it. */
    String DEFAULT_HOST = "127.0.0.1";

    /** All addresses of this machine. */
    String ANY_HOST = "0.0.0.0";

    /**
     * A standing agent, which listens.
     *
     * @param host the address to listen at: a name or a numeric address
     * @param port the port; 0 for any free port
     * @param secretFile the file with the secret; the agent makes it if it does not exist
     */
    record Listen(String host, int port, Path secretFile) implements AgentRequest {}

    /** An outbound agent, which connects to a launcher and serves the job of the launcher. */
    record Dial(List<LauncherAddress> launchers, String node) implements AgentRequest {
        public Dial {
            launchers = List.copyOf(launchers);
        }
    }

    /**
     * Reads the command line.
     *
     * @throws UsageException with one line for the user, if the command line is impossible
     */
    static AgentRequest of(ParsedCommand line, CommandContext commandContext) {
        return line.value(CommandOption.LAUNCHER)
                .<AgentRequest>map(launchers -> dial(launchers, line))
                .orElseGet(() -> listen(line, commandContext));
    }

    private static Dial dial(String launchers, ParsedCommand line) {
        if (line.has(CommandOption.LISTEN) || line.has(CommandOption.AGENT_SECRET_FILE)) {
            throw new UsageException(
                    "jrun agent --launcher does not listen, and reads its secret from stdin; leave out --listen and"
                            + " --secret-file.");
        }
        String node = line.value(CommandOption.NODE).orElse("");
        if (node.isEmpty()) {
            throw new UsageException("jrun agent --launcher needs --node NAME, the name of this node in the job.");
        }
        return new Dial(
                Stream.of(launchers.split(",", -1))
                        .map(part -> HostAndPort.parse(part, CommandOption.LAUNCHER.longName(), OptionalInt.empty()))
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
