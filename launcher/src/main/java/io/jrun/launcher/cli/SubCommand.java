package io.jrun.launcher.cli;

import io.jrun.comm.spelling.SimilarName;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** The sub-commands of jrun, named by the first word of the command line. */
public enum SubCommand {
    /** Prints help. */
    HELP(
            "show the whole help, or with a command's name the help of that command",
            "man manual",
            Operand.COMMAND,
            CommandOption.MANUAL),
    /** Writes a project to start from. */
    INIT(
            "make a Maven or Gradle project that trains with jrun",
            "new create project",
            Operand.NEW_FOLDER,
            CommandOption.SHAPE,
            CommandOption.GRADLE),
    /** Lists jobs. */
    PS(
            "list the running jobs; -a lists ended jobs too",
            "jobs list status queue",
            Operand.NONE,
            CommandOption.ALL,
            CommandOption.JSON),
    /** Shows all known facts of a job. */
    DESCRIBE(
            "show all known facts of a job, also after its end",
            "show info inspect get",
            Operand.JOB,
            CommandOption.JSON),
    /** Shows the output of workers. */
    LOGS(
            "show the output of a job's workers; -f follows it",
            "log output",
            Operand.JOB,
            CommandOption.FOLLOW,
            CommandOption.RANK,
            CommandOption.TAIL,
            CommandOption.SINCE,
            CommandOption.STDERR,
            CommandOption.TIMESTAMPS),
    /** Shows the console of a detached job. */
    ATTACH("show the console of a job that --detach started, until the job ends", "follow watch", Operand.JOB),
    /** Stops a job. */
    CANCEL("stop a job, as Ctrl-C does", "stop abort delete scancel terminate", Operand.JOB, CommandOption.NOW),
    /** Removes the files of ended jobs. */
    RM("remove the log folders of ended jobs", "delete remove clean prune", Operand.JOBS, CommandOption.ENDED_BEFORE),
    /** Runs a command beside a worker. */
    EXEC(
            "run a command beside a worker: in its container and folder, with its variables",
            "shell enter sh",
            Operand.RANK_COMMAND,
            CommandOption.HERE,
            LaunchOption.SSH_OPTIONS,
            LaunchOption.REMOTE_JRUN),
    /** Shows the current position of each worker. */
    STACK(
            "show where each worker of a job is: its current collective and its stacks",
            "stacks jstack",
            Operand.JOB,
            CommandOption.RANK),
    /** Serves a page about all jobs. */
    DASHBOARD(
            "show all jobs in the browser: ranks, curves, logs, failures",
            "ui web gui page",
            Operand.NONE,
            CommandOption.PORT,
            CommandOption.NO_OPEN,
            CommandOption.HOST,
            CommandOption.TLS_CERTIFICATE,
            CommandOption.TLS_KEY),
    /** Shows the ranks of a job in the terminal. */
    TOP("show the ranks of a job at a glance, redrawn every second", "htop monitor", Operand.ONE_OR_ALL_JOBS),
    /** Writes a timeline. */
    TRACE(
            "write the timeline of all ranks, for https://ui.perfetto.dev",
            "timeline profile perfetto",
            Operand.JOB,
            CommandOption.RESULT_FILE),
    /** Writes a page about one job. */
    REPORT("write one HTML file about a job", "html summary", Operand.JOB, CommandOption.RESULT_FILE),
    /** Compares the last collectives of the ranks of a failed job. */
    FLIGHT_RECORDER(
            "find the rank that diverged, from the log folder of a failed job",
            "flight",
            Operand.DUMPS,
            CommandOption.JSON),
    /** Submits a job to Slurm. */
    SUBMIT(
            "submit a job to Slurm, or print one for Kubernetes",
            "sbatch kubectl",
            Operand.PROGRAM,
            CommandOption.TO,
            CommandOption.POD_IMAGE,
            CommandOption.PRINT),
    /** Checks this machine or several hosts. */
    DOCTOR(
            "check that this machine, or each of --hosts, has what jobs need",
            "check verify",
            Operand.NONE,
            CommandOption.JSON,
            LaunchOption.LAUNCH,
            LaunchOption.HOSTS,
            LaunchOption.HOSTFILE,
            LaunchOption.INCLUDE,
            LaunchOption.EXCLUDE,
            LaunchOption.SECRET_FILE,
            LaunchOption.AGENT_PORT,
            LaunchOption.SSH_OPTIONS,
            LaunchOption.REMOTE_JRUN),
    /** Runs the benchmarks. */
    BENCH("measure collectives and training steps", "benchmark perf", Operand.BENCHMARK, CommandOption.VERSION),
    /** Runs a standing agent. */
    AGENT(
            "run a standing agent on this host, for jobs on several hosts",
            "daemon server",
            Operand.NONE,
            CommandOption.AGENT_SECRET_FILE,
            CommandOption.LISTEN,
            CommandOption.LAUNCHER,
            CommandOption.NODE),
    /** Makes, lists and removes images of containers. */
    IMAGE(
            "list, pull, make and remove the images of containers on this node",
            "images container containers pull",
            Operand.IMAGES,
            CommandOption.JSON,
            CommandOption.OUTPUT,
            CommandOption.ROOTFS,
            CommandOption.DEBIAN,
            CommandOption.PACKAGES,
            CommandOption.OLDER_THAN),
    /** Brings, shows and removes libtorch's CUDA build. */
    CUDA(
            "bring libtorch's CUDA build for workers on GPUs, or show what is missing",
            "gpu gpus nvidia",
            Operand.CUDA_ACTION,
            CommandOption.WITH_LIBRARIES,
            CommandOption.SHARED,
            CommandOption.JSON),
    /** Makes certificates. */
    CERT(
            "make certificates for hosts and users, instead of a shared secret",
            "certificate",
            Operand.AUTHORITY,
            CommandOption.DIR,
            CommandOption.DAYS),
    /** Prints the class path of the workers. */
    CLASSPATH(
            "print the class path of the workers, for IDEs, jshell and plain java",
            "cp class-path",
            Operand.NONE,
            CommandOption.JSON),
    /** Prints the completion script. */
    COMPLETION("print a completion script: source <(jrun completion)", "complete", Operand.SHELL),
    /** Prints the version. */
    VERSION("print the versions of jrun and of the JDK that runs it", "", Operand.NONE);

    /** The limit of options in a line of usage. */
    private static final int MOST_OPTIONS_SHOWN = 2;

    /** Options to which a benchmark gives another meaning. */
    private static final Set<LaunchOption> OF_BENCHMARKS = Set.of(LaunchOption.BACKEND, LaunchOption.JSON);

    private final String description;
    private final String otherNames;
    private final Operand operand;

    @SuppressWarnings("ImmutableEnumChecker") // the options are constants of enums and records
    private final List<CommandLineOption> ownOptions;

    /** @param otherNames names of such a command in other tools, for suggestions only */
    SubCommand(String description, String otherNames, Operand operand, CommandLineOption... ownOptions) {
        this.description = description;
        this.otherNames = otherNames;
        this.operand = operand;
        this.ownOptions = List.of(ownOptions);
    }

    /** The sub-command with the name {@code word}. */
    public static Optional<SubCommand> of(String word) {
        return Arrays.stream(values())
                .filter(command -> command.word().equals(word))
                .findFirst();
    }

    /** The sub-command that the user probably meant by {@code word}: by its meaning, else by its letters. */
    static Optional<SubCommand> near(String word) {
        return Arrays.stream(values())
                .filter(command -> List.of(command.otherNames.split(" ", -1)).contains(word))
                .findFirst()
                .or(() -> SimilarName.of(word, names()).flatMap(SubCommand::of));
    }

    static List<String> names() {
        return Arrays.stream(values()).map(SubCommand::word).toList();
    }

    String description() {
        return description;
    }

    Operand operand() {
        return operand;
    }

    /** The options on the help page of this command. */
    List<CommandLineOption> ownOptions() {
        return ownOptions;
    }

    /** All options that the command accepts. A name of two options belongs to the first option. */
    List<CommandLineOption> options() {
        Stream<? extends CommandLineOption> others = switch (this) {
            case SUBMIT -> Stream.concat(SbatchOption.ALL.stream(), Stream.of(LaunchOption.values()));
            case BENCH -> Stream.of(LaunchOption.values()).filter(option -> !OF_BENCHMARKS.contains(option));
            case DOCTOR -> Stream.of(LaunchOption.values()).filter(option -> option.group() == OptionGroup.CONTAINER);
            default -> Stream.of();
        };
        return Stream.of(ownOptions.stream(), others, Stream.of(CommandOption.HELP))
                .<CommandLineOption>flatMap(options -> options)
                .toList();
    }

    /** The usage of the command in one line. */
    String usage() {
        StringBuilder line = new StringBuilder("jrun ").append(word());
        if (operand.endsOptions() || operand.takesUnknownOptions()) {
            return line
                    + (operand.endsOptions() ? " [options] " + operand.label() : " " + operand.label() + " [options]");
        }
        line.append(operand == Operand.NONE ? "" : " " + operand.label());
        if (ownOptions.size() > MOST_OPTIONS_SHOWN) {
            return line + " [options]";
        }
        ownOptions.forEach(option -> line.append(" [")
                .append(option.names().getFirst())
                .append(option.isSwitch() ? "" : "=" + option.parameter())
                .append(']'));
        return line.toString();
    }

    /** The name of the command on the command line. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
