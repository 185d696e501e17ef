package io.jrun.launcher.cli;

import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/**
 * What {@code jrun agent} was asked for.
 *
 * @param host the address to listen at: a name or a numeric address
 * @param port 0 for any free one
 * @param secretFile made, with a new secret, if it does not exist
 */
public record AgentRequest(String host, int port, Path secretFile) {
    /** Not in use by anything that is registered, and near torchrun's own ports; {@code --agent-port} has it too. */
    static final int DEFAULT_PORT = 29_600;

    private static final String DEFAULT_HOST = "127.0.0.1";
    private static final String ANY_HOST = "0.0.0.0";
    private static final int MAX_PORT = 65535;

    /** {@code ADDR}, {@code ADDR:PORT}, {@code :PORT}, with an IPv6 address in brackets. */
    private static final Pattern LISTEN = Pattern.compile("(?:\\[([^\\]]+)]|([^:\\[\\]]*))(?::([^:]*))?");

    /**
     * Reads the words after {@code agent}.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    public static AgentRequest parse(List<String> args, Surroundings surroundings) {
        ParseResult result;
        try {
            result = command().setExpandAtFiles(false).parseArgs(args.toArray(String[]::new));
        } catch (ParameterException e) {
            throw new UsageException(
                    e.getMessage() + "; usage: jrun agent --secret-file PATH [--listen ADDRESS:PORT].");
        }
        if (!result.hasMatchedOption("--secret-file")) {
            throw new UsageException("jrun agent needs --secret-file PATH; the file is made if it does not exist.");
        }
        String listen = result.matchedOptionValue("--listen", DEFAULT_HOST);
        Matcher parts = LISTEN.matcher(listen);
        if (!parts.matches() || listen.isEmpty()) {
            throw Values.refused("--listen", listen, "ADDRESS:PORT, ADDRESS or :PORT, an IPv6 address in brackets");
        }
        String host = Stream.of(parts.group(1), parts.group(2))
                .filter(group -> group != null && !group.isEmpty())
                .findFirst()
                .orElse(ANY_HOST);
        String port = parts.group(3) == null ? Integer.toString(DEFAULT_PORT) : parts.group(3);
        return new AgentRequest(
                host,
                Values.count(port, "--listen", 0, MAX_PORT),
                surroundings.resolve(result.matchedOptionValue("--secret-file", "")));
    }

    /** What {@code jrun agent --help} prints. */
    public static String help() {
        return command().getUsageMessage(CommandLine.Help.Ansi.OFF);
    }

    private static CommandLine command() {
        CommandSpec spec = CommandSpec.create()
                .name("jrun agent")
                .addOption(value(
                        "--secret-file",
                        "PATH",
                        "What the agents of all hosts and the users of them share: a file of theirs alone (mode 0600), the"
                                + " same on every host. Made if it is not there."))
                .addOption(value(
                        "--listen",
                        "ADDRESS:PORT",
                        "Where to listen: 0.0.0.0 for all of this host's addresses, :PORT for these at another port, port 0"
                                + " for any free one, which is printed. Default: " + DEFAULT_HOST + ":" + DEFAULT_PORT
                                + "."));
        spec.usageMessage()
                .description(
                        "Runs this host's part of 'jrun --hosts HOSTS --secret-file PATH ...' until a signal ends it. Whoever"
                                + " has the secret file runs programs as this user here; connections are TLS with both"
                                + " sides authenticated by it, others are refused.");
        return new CommandLine(spec);
    }

    private static OptionSpec value(String name, String label, String description) {
        return OptionSpec.builder(name)
                .arity("1")
                .paramLabel(label)
                .type(String.class)
                .description(description)
                .build();
    }
}
