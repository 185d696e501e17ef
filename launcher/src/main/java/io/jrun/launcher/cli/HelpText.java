package io.jrun.launcher.cli;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** {@code jrun --help} and the shell completion, rendered by picocli from {@link LaunchOption}. */
public final class HelpText {
    private static final int WIDTH = 110;

    private static final List<String> EXIT_CODES = List.of(
            "  0    all workers ended with 0",
            "  N    the first failing worker's own exit code; 128+n if signal n killed it",
            "  2    the command line or job file was wrong, or an agent refused the job; nothing was started",
            "  65   of a worker: not to be started again, whatever --max-restarts says",
            "  69   an agent or its host was lost or could not be reached",
            "  70   internal error of jrun",
            "  75   a worker hung, see --worker-timeout and --progress-timeout",
            "  124  --timeout passed",
            "  129, 130, 143  jrun was stopped by SIGHUP, SIGINT (Ctrl-C) or SIGTERM");

    private static final List<String> EXAMPLES = List.of(
            "  jrun --nproc-per-node=2 train.jar --epochs 3",
            "      two workers of a runnable jar; --epochs 3 is the program's own",
            "  jrun --nproc-per-node=gpu --max-restarts=3 --jvm-opts=-Xmx8g train.jar --resume latest",
            "      a worker for each GPU, started again up to three times",
            "  jrun --hosts gpu[01-04]:8 train.jar",
            "      32 workers on four hosts, over ssh",
            "  jrun --hosts gpu[01-04]:8 --secret-file ~/.jrun-secret train.jar",
            "      the same where 'jrun agent --secret-file ~/.jrun-secret --listen 0.0.0.0' runs",
            "  jrun --nproc-per-node=2 --env LEVEL=debug python3 train.py",
            "      any program: RANK, WORLD_SIZE, MASTER_ADDR and the like are set as torchrun sets them");

    private static final List<String> VARIABLES = List.of(
            "  JRUN_X, PET_X  the default of option --x; the option itself wins, then --file, JRUN_X, PET_X",
            "  JRUN_JAVA_HOME, JAVA_HOME  the JDK (25 or newer) that runs jrun",
            "  JRUN_HOME  the installation that scripts/jrun uses, instead of the one beside it",
            "  JRUN_NO_ARCHIVE  1: keep no class-data archives, which make starts fast",
            "  NO_COLOR  no colours on the console");

    private static final List<String> RUNTIME_VARIABLES = List.of(
            "  JRUN_TRANSPORT  auto (default: shared memory on one node), shm or tcp",
            "  JRUN_DETERMINISTIC  1: results depend on neither transport nor how data is split",
            "  JRUN_TIMEOUT_SECONDS  deadline of a collective, 600 by default",
            "  JRUN_LATE_WARNING_SECONDS  a collective that waits longer says for whom, 60 by default",
            "  JRUN_ALGORITHM  forces a TCP algorithm, see docs/algorithms.md");

    private HelpText() {}

    /** The whole help, ending in a newline. */
    public static String full() {
        CommandLine command = new CommandLine(documented());
        return command.getUsageMessage(CommandLine.Help.Ansi.OFF)
                .lines()
                .map(String::stripTrailing)
                .collect(Collectors.joining("\n", "", "\n"));
    }

    /** A script that completes jrun's options and sub-commands in bash and zsh. */
    public static String completion() {
        CommandSpec spec = documented();
        SubCommand.names().forEach(name -> spec.addSubcommand(name, CommandSpec.create()));
        return AutoComplete.bash("jrun", new CommandLine(spec));
    }

    private static CommandSpec documented() {
        CommandSpec spec = CommandSpec.create().name("jrun");
        int order = 0;
        for (OptionGroup group : OptionGroup.values()) {
            order++;
            spec.addArgGroup(documented(group, order));
        }
        spec.usageMessage()
                .width(WIDTH)
                .abbreviateSynopsis(true)
                .sortOptions(false)
                .customSynopsis("jrun [options] PROGRAM [args...]", synopsisOfSubCommands())
                .description(
                        "%nStarts PROGRAM, a runnable jar or any executable, once for each rank, watches all of them, and"
                                + " ends as they end: the first failure stops the job everywhere and is reported with its"
                                + " cause. Everything after PROGRAM is the program's own. Names of options may be written"
                                + " with - or _.")
                .footer(footer());
        return spec;
    }

    private static String synopsisOfSubCommands() {
        return SubCommand.descriptions().entrySet().stream()
                .map(entry -> "       jrun " + entry.getKey() + "  " + entry.getValue())
                .collect(Collectors.joining("%n"));
    }

    private static String[] footer() {
        return Stream.of(
                        Stream.of("", "Environment:"),
                        VARIABLES.stream(),
                        Stream.of("", "Environment of the workers' runtime:"),
                        RUNTIME_VARIABLES.stream(),
                        Stream.of("", "Exit codes:"),
                        EXIT_CODES.stream(),
                        Stream.of("", "Examples:"),
                        EXAMPLES.stream())
                .flatMap(lines -> lines)
                .toArray(String[]::new);
    }

    private static ArgGroupSpec documented(OptionGroup group, int order) {
        ArgGroupSpec.Builder builder = ArgGroupSpec.builder()
                .heading("%n" + group.heading() + ":%n")
                .validate(false)
                .order(order);
        Arrays.stream(LaunchOption.values())
                .filter(option -> option.group() == group)
                .forEach(option -> builder.addArg(documented(option)));
        if (group == OptionGroup.OTHER) {
            builder.addArg(documentedSwitch("Show this help and end.", "-h", "--help"));
            builder.addArg(documentedSwitch("Show the version and end.", "-V", "--version"));
        }
        return builder.build();
    }

    private static OptionSpec documented(LaunchOption option) {
        OptionSpec.Builder builder = OptionSpec.builder(option.names().toArray(String[]::new))
                .order(Arrays.asList(LaunchOption.values()).indexOf(option))
                .description(description(option));
        return option.isSwitch()
                ? builder.arity("0").type(boolean.class).build()
                : builder.arity("1")
                        .paramLabel(option.parameter())
                        .type(String.class)
                        .build();
    }

    private static OptionSpec documentedSwitch(String description, String... names) {
        return OptionSpec.builder(names)
                .arity("0")
                .type(boolean.class)
                .order(LaunchOption.values().length)
                .description(description)
                .build();
    }

    private static String description(LaunchOption option) {
        StringBuilder text = new StringBuilder(option.description());
        if (!option.defaultText().isEmpty()) {
            text.append(" Default: ").append(option.defaultText()).append('.');
        }
        String variables = Stream.concat(option.jrunVariable().stream(), option.torchVariable().stream())
                .collect(Collectors.joining(", "));
        if (!variables.isEmpty()) {
            text.append(" Env: ").append(variables).append('.');
        }
        return text.toString().replace("%", "%%");
    }
}
