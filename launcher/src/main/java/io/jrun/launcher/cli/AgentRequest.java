package io.jrun.launcher.cli;

import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/**
 * What {@code jrun agent} was asked for.
 *
 * @param port 0 for any free one
 * @param secretFile made, with a new secret, if it does not exist
 */
public record AgentRequest(int port, Path secretFile) {
    private static final int MAX_PORT = 65535;

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
            throw new UsageException(e.getMessage() + "; usage: jrun agent --secret-file PATH [--port PORT].");
        }
        if (!result.hasMatchedOption("--secret-file")) {
            throw new UsageException("jrun agent needs --secret-file PATH; the file is made if it does not exist.");
        }
        String portText = result.matchedOptionValue("--port", "0");
        return new AgentRequest(
                Values.count(portText, "--port", 0, MAX_PORT),
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
                        "--secret-file", "PATH", "Whoever has this file may use the agent; made if it is not there."))
                .addOption(value(
                        "--port", "PORT", "Port on the loopback interface. Default: any free one, which is printed."));
        spec.usageMessage()
                .description(
                        "Runs the jobs of 'jrun --agent 127.0.0.1:PORT --secret-file PATH ...' until a signal ends it.");
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
