package io.jrun.launcher.cli;

import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** The options of {@code jrun agent}, for picocli, which reads them and prints their help. Stateless. */
final class AgentOption {
    static final String DEFAULT_HOST = "127.0.0.1";
    static final String ANY_HOST = "0.0.0.0";

    private static final OptionSpec SECRET_FILE = HelpPage.value(
            List.of("--secret-file"),
            "PATH",
            "Secret that the agents of all hosts and their users share: a file of mode 0600, the same on every host. Made if it"
                    + " does not exist. Default: ~/.config/jrun/secret.");
    private static final OptionSpec LISTEN = HelpPage.value(
            List.of("--listen"),
            "ADDRESS:PORT",
            "Address to listen at. 0.0.0.0: all addresses of this host. :PORT: all addresses, at this port. Port 0: any free"
                    + " port, which is printed. Default: " + DEFAULT_HOST + ":" + AgentRequest.DEFAULT_PORT + ".");
    private static final OptionSpec HOME = HelpPage.value(
            List.of("--home"),
            "ADDRESS:PORT,...",
            "Connect to the jrun that listens at one of these addresses, serve its job and end with it. The first line of stdin"
                    + " is the secret of the job. jrun itself starts agents this way.");
    private static final OptionSpec NODE =
            HelpPage.value(List.of("--node"), "NAME", "With --home: the name of this node in that job.");

    private static final List<OptionSpec> OPTIONS = List.of(SECRET_FILE, LISTEN, HOME, NODE);

    private AgentOption() {}

    /** Reads a command line. */
    static CommandLine command() {
        CommandSpec spec = CommandSpec.create().name("jrun agent");
        OPTIONS.forEach(spec::addOption);
        return new CommandLine(spec);
    }

    static String help() {
        HelpPage page = new HelpPage("jrun agent [--secret-file=PATH] [--listen=ADDRESS:PORT]")
                .about(
                        "Runs the workers of this host for 'jrun --hosts HOSTS --secret-file PATH ...', until a signal ends the"
                                + " agent. Everyone who has the secret file can run programs here as this user. Connections are TLS;"
                                + " both sides prove that they have the secret.");
        OPTIONS.forEach(page::option);
        return page.option(HelpPage.help()).text();
    }

    /** The options of {@code jrun agent}. */
    static List<String> optionNames() {
        return OPTIONS.stream().map(OptionSpec::longestName).toList();
    }
}
