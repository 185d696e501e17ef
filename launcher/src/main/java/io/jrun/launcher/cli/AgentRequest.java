package io.jrun.launcher.cli;

import io.jrun.agent.LauncherAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Stream;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/** What {@code jrun agent} was asked for. */
public sealed interface AgentRequest {
    /** Not in use by anything that is registered, and near torchrun's own ports; {@code --agent-port} has it too. */
    int DEFAULT_PORT = 29_600;

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
     * Reads the words after {@code agent}.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    static AgentRequest parse(List<String> args, CommandContext commandContext) {
        ParseResult result;
        try {
            result = AgentOption.command().setExpandAtFiles(false).parseArgs(args.toArray(String[]::new));
        } catch (ParameterException e) {
            throw new UsageException(
                    e.getMessage() + "; usage: jrun agent [--secret-file=PATH] [--listen=ADDRESS:PORT].");
        }
        return result.hasMatchedOption("--home") ? goHome(result) : listen(result, commandContext);
    }

    private static GoHome goHome(ParseResult result) {
        if (result.hasMatchedOption("--listen") || result.hasMatchedOption("--secret-file")) {
            throw new UsageException(
                    "jrun agent --home listens nowhere and reads its secret on stdin; leave --listen and"
                            + " --secret-file out.");
        }
        String node = result.matchedOptionValue("--node", "");
        if (node.isEmpty()) {
            throw new UsageException("jrun agent --home needs --node NAME, what the launcher calls this node.");
        }
        String text = result.matchedOptionValue("--home", "");
        return new GoHome(
                Stream.of(text.split(",", -1))
                        .map(part -> HostAndPort.parse(part, "--home", OptionalInt.empty()))
                        .toList(),
                node);
    }

    private static Listen listen(ParseResult result, CommandContext commandContext) {
        String text = result.matchedOptionValue("--listen", AgentOption.DEFAULT_HOST);
        LauncherAddress address = HostAndPort.parse(text, "--listen", OptionalInt.of(DEFAULT_PORT));
        String secret = result.matchedOptionValue("--secret-file", "");
        return new Listen(
                address.host().isEmpty() ? AgentOption.ANY_HOST : address.host(),
                address.port(),
                secret.isEmpty() ? SecretPath.standard(commandContext) : commandContext.resolve(secret));
    }

    /** What {@code jrun agent --help} prints. */
    static String help() {
        return AgentOption.help();
    }
}
