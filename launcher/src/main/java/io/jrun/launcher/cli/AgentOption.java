package io.jrun.launcher.cli;

import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** The options of {@code jrun agent}, for picocli, which reads them and prints their help. Stateless. */
final class AgentOption {
    static final String DEFAULT_HOST = "127.0.0.1";
    static final String ANY_HOST = "0.0.0.0";

    private AgentOption() {}

    static CommandLine command() {
        CommandSpec spec = CommandSpec.create()
                .name("jrun agent")
                .addOption(value(
                        "--secret-file",
                        "PATH",
                        "What the agents of all hosts and the users of them share: a file of theirs alone (mode 0600), the"
                                + " same on every host. Made if it is not there. Default: ~/.config/jrun/secret."))
                .addOption(value(
                        "--listen",
                        "ADDRESS:PORT",
                        "Where to listen: 0.0.0.0 for all of this host's addresses, :PORT for these at another port, port 0"
                                + " for any free one, which is printed. Default: " + DEFAULT_HOST + ":"
                                + AgentRequest.DEFAULT_PORT + "."))
                .addOption(value(
                        "--home",
                        "ADDRESS:PORT,...",
                        "Dial the jrun that listens at one of these addresses instead, and end with its job. The first line"
                                + " of stdin is the job's secret. This is how jrun starts agents itself."))
                .addOption(value("--node", "NAME", "With --home: what that jrun calls this node."));
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
