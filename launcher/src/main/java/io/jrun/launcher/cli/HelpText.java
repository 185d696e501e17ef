package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The help of jrun itself, whole and brief, made from {@link LaunchOption} and {@link SubCommand}. Stateless. */
public final class HelpText {
    /** Short texts for the options that most jobs need. */
    private static final Map<LaunchOption, String> COMMON = common();

    static final List<String> EXIT_CODES = List.of(
            "  0    all workers ended with 0",
            "  N    exit code of the worker that failed first; 128+n if signal n killed it",
            "  2    wrong command line or job file, or an agent refused the job; nothing was started",
            "  65   exit code of a worker that must not be started again, whatever --max-restarts says",
            "  69   an agent or its host was lost or could not be reached",
            "  70   internal error of jrun",
            "  75   a worker hung, see --worker-timeout and --progress-timeout",
            "  124  --timeout passed",
            "  129, 130, 143  jrun was stopped by SIGHUP, SIGINT (Ctrl-C) or SIGTERM");

    static final List<String> EXAMPLES = List.of(
            "  jrun --nproc-per-node=2 train.jar --epochs 3",
            "      two workers of a runnable jar; --epochs 3 belongs to the program",
            "  jrun --nproc-per-node=gpu --max-restarts=3 --jvm-opts=-Xmx8g train.jar --resume latest",
            "      a worker for each GPU, started again up to three times",
            "  jrun --hosts gpu[01-04]:8 train.jar",
            "      32 workers on four hosts, over ssh",
            "  jrun --hosts gpu[01-04]:8 --secret-file ~/.jrun-secret train.jar",
            "      the same, where 'jrun agent --secret-file ~/.jrun-secret --listen 0.0.0.0' runs on each host",
            "  jrun --nnodes=2 --rdzv-endpoint=head:29400 --nproc-per-node=8 train.jar",
            "      torchrun's way: the same command on every node",
            "  jrun --nproc-per-node=2 --env LEVEL=debug python3 train.py",
            "      any program: jrun sets RANK, WORLD_SIZE, MASTER_ADDR and the rest as torchrun does");

    static final List<String> VARIABLES = List.of(
            "  JRUN_X, PET_X    default of option --x, as named under Env; order: command line, --file, JRUN_X, PET_X",
            "  JRUN_JAVA_HOME, JAVA_HOME    JDK (25 or newer) that runs jrun",
            "  JRUN_HOME        installation that scripts/jrun uses, instead of the one beside it",
            "  JRUN_NO_ARCHIVE  1: make no class-data archives, which shorten starts",
            "  NO_COLOR         any value: no colours on the console");

    static final List<String> RUNTIME_VARIABLES = List.of(
            "  JRUN_TRANSPORT             auto, shm or tcp; default: auto (shared memory inside a node)",
            "  JRUN_DETERMINISTIC         1: results depend neither on the transport nor on how data is split",
            "  JRUN_TIMEOUT_SECONDS       deadline of a collective; default: 600 s",
            "  JRUN_LATE_WARNING_SECONDS  a collective that waits longer names the late ranks; default: 60 s",
            "  JRUN_ALGORITHM             TCP algorithm to use, see docs/algorithms.md",
            "  JRUN_LIBTORCH              auto, cpu, cuda: build of libtorch; default: auto (cuda on GPUs)",
            "  JRUN_CUDA_PATH             folders of CUDA's own libraries, see 'jrun cuda status'",
            "  JRUN_GPU_DIRECT_STORAGE    auto, off: how files are read into GPU memory; default: auto");

    /** The usage of jrun, in lines. */
    static final String[] USAGE = {"jrun [options] PROGRAM [args...]", "jrun COMMAND [options]"};

    /** The description of jrun, in paragraphs. */
    static final String[] ABOUT = {
        "Starts PROGRAM, a runnable jar, a Java source file or any executable, once for each rank, and"
                + " watches all ranks."
                + " The first failure stops the job on all hosts; jrun reports the cause and ends with"
                + " the exit code of the rank that failed. Everything after PROGRAM belongs to the"
                + " program. In these words ${rank} and ${local_rank} stand for the worker's numbers;"
                + " $$ gives a dollar sign (after -c and -e, where a shell reads $$, only before"
                + " {rank}).",
        "",
        "Options may be written with - or _ inside their names, and with = or a blank before their"
                + " values. A TIME is in seconds or has a unit: 500ms, 90s, 10m, 2h; or has a"
                + " form of Slurm: 1:30:00, 2-12."
    };

    private HelpText() {}

    private static Map<LaunchOption, String> common() {
        Map<LaunchOption, String> texts = new LinkedHashMap<>();
        texts.put(LaunchOption.NPROC_PER_NODE, "workers on each node (default: 1)");
        texts.put(LaunchOption.HOSTS, "hosts to run on: h1:8,h2:4 or gpu[01-04]:8");
        texts.put(LaunchOption.RDZV_ENDPOINT, "where the jruns of all nodes meet, as in torchrun");
        texts.put(LaunchOption.MAX_RESTARTS, "restarts after a failure (default: 0)");
        texts.put(LaunchOption.TIMEOUT, "end the job after this time: 90s, 10m, 2h (default: no limit)");
        texts.put(LaunchOption.ENV, "environment variable of the workers; repeatable");
        texts.put(LaunchOption.DETACH, "run in the background; 'jrun ps' and 'jrun logs' show the job");
        texts.put(LaunchOption.DRY_RUN, "show which rank runs where, and start nothing");
        return texts;
    }

    /** The whole help. */
    public static String full() {
        HelpPage page = new HelpPage(USAGE)
                .about(Stream.concat(Stream.of(""), Stream.of(ABOUT)).toArray(String[]::new));
        page.subCommands();
        for (OptionGroup group : OptionGroup.values()) {
            page.group(group.heading(), optionsOf(group));
        }
        return page.footer(footer()).text();
    }

    /**
     * A script that completes jrun's options and sub-commands.
     *
     * @param shell bash, zsh or fish; empty for bash and zsh
     * @param benchWords the operations and options of {@code jrun bench}
     * @throws UsageException for another shell
     */
    public static String completion(String shell, List<String> benchWords) {
        return switch (shell) {
            case "", "bash", "zsh" -> CompletionScript.text(benchWords);
            case "fish" -> FishCompletion.text(benchWords);
            default -> throw new UsageException("completion: '" + shell + "': give bash, zsh or fish.");
        };
    }

    /** The manual page of {@code command}, or of jrun itself without a command, in the language of man(7). */
    public static String manual(Optional<SubCommand> command, String version) {
        return command.map(called -> ManualPage.of(called, version)).orElseGet(() -> ManualPage.ofJRun(version));
    }

    /** The help that fits on a screen. */
    public static String brief() {
        HelpPage page = new HelpPage(USAGE)
                .about(
                        "Starts PROGRAM, a runnable jar, a Java source file or any executable, once for each rank. Examples:",
                        "  jrun --nproc-per-node=2 train.jar --epochs 3      two workers on this machine",
                        "  jrun --nproc-per-node=gpu python3 train.py        a worker for each GPU, torchrun's"
                                + " environment",
                        "  jrun --hosts gpu[01-04]:8 train.jar               32 workers on four hosts, over ssh")
                .subCommands();
        COMMON.forEach(page::option);
        return page.footer("", "'jrun --help' shows all options, 'jrun help COMMAND' those of a command.")
                .text();
    }

    /** The help of a command. The benchmark program has the help of {@code jrun bench}. */
    public static String of(SubCommand command) {
        HelpPage page = new HelpPage(command.usage()).about(about(command)).operand(command.operand());
        Stream.concat(command.ownOptions().stream(), Stream.of(CommandOption.HELP))
                .forEach(option -> page.option(option, option.description()));
        return command == SubCommand.SUBMIT
                ? page.footer(
                                "",
                                "Options of sbatch, by their long names (--time in minutes, as in Slurm; --nnodes sets"
                                        + " --nodes too):",
                                SbatchOption.ALL.stream()
                                        .map(SbatchOption::longName)
                                        .collect(Collectors.joining(" ")),
                                "",
                                "'jrun --help' shows the options of jrun.")
                        .text()
                : page.text();
    }

    static String[] about(SubCommand command) {
        return switch (command) {
            case INIT ->
                new String[] {
                    "Makes a Maven project: a pom.xml, a small program that trains on all ranks, and a .gitignore.",
                    "'mvn package' builds the project, 'jrun --nproc-per-node=2 target/NAME.jar' runs it. First jrun"
                            + " installs its jars in the local repository of Maven, by the user's settings."
                };
            case FLIGHT_RECORDER ->
                new String[] {
                    "Compares the last collectives of all ranks of a failed job. Names the rank that diverged and the"
                            + " call, and the ranks that came last."
                };
            case SUBMIT ->
                new String[] {
                    "Submits a job to Slurm (or prints one for Kubernetes, docs/kubernetes.md): writes a batch script that runs 'jrun [jrun's options] PROGRAM [args...]'"
                            + " and hands the script to sbatch.",
                    "",
                    "Example:",
                    "  jrun submit --nnodes=2 --gpus-per-node=8 --time=1:00:00 train.jar --epochs 3"
                };
            case DOCTOR ->
                new String[] {
                    "Checks that this machine, each host and every connection between two hosts has what jobs need, and"
                            + " says what to do. Hosts are named and reached as for a job; --launch=local checks this"
                            + " machine only. Exit code 1: there is a problem."
                };
            case AGENT ->
                new String[] {
                    "Runs the workers of this host for 'jrun --hosts HOSTS --secret-file PATH ...', until a signal ends"
                            + " the agent. Everyone who has the secret file can run programs here as this user."
                            + " Connections are TLS; both sides prove that they have the secret."
                };
            default -> new String[] {sentence(command)};
        };
    }

    /**
     * The sub-command with the name {@code word}.
     *
     * @throws UsageException if there is no such sub-command
     */
    public static SubCommand commandOf(String word) {
        return SubCommand.of(word)
                .orElseThrow(() -> new UsageException("unknown command '" + word + "'"
                        + SubCommand.near(word)
                                .map(command -> "; did you mean 'jrun help " + command.word() + "'?")
                                .orElse("; 'jrun -h' lists the commands.")));
    }

    /** The description of {@code command}, a sentence. */
    static String sentence(SubCommand command) {
        String text = command.description();
        return text.substring(0, 1).toUpperCase(Locale.ROOT) + text.substring(1) + ".";
    }

    static Map<CommandLineOption, String> optionsOf(OptionGroup group) {
        Map<CommandLineOption, String> texts = new LinkedHashMap<>();
        Arrays.stream(LaunchOption.values())
                .filter(option -> option.group() == group)
                .forEach(option -> texts.put(option, description(option)));
        if (group == OptionGroup.OTHER) {
            Stream.of(CommandOption.BRIEF_HELP, CommandOption.WHOLE_HELP, CommandOption.VERSION)
                    .forEach(option -> texts.put(option, option.description()));
        }
        return texts;
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

    private static String description(LaunchOption option) {
        String variables = Stream.of(option.jrunVariable(), option.torchVariable(), option.elasticVariable())
                .flatMap(Optional::stream)
                .collect(Collectors.joining(", "));
        return option.description() + (variables.isEmpty() ? "" : " Env: " + variables + ".");
    }
}
