package io.jrun.launcher.cli;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** What jrun does besides running a program, chosen by its first word. */
public enum SubCommand {
    /** Prints help. */
    HELP("show the whole help, or with a command's name the help of that command", ""),
    /** Writes a project to start from. */
    INIT("make a Maven project that trains with jrun", "new create project"),
    /** Lists jobs. */
    PS("list the running jobs; -a lists ended jobs too", "jobs list status queue"),
    /** Tells all of a job. */
    DESCRIBE("show all that is known of a job, also after its end", "show info inspect get"),
    /** Shows what workers have written. */
    LOGS("show the output of a job's workers; -f follows it", "log output"),
    /** Watches a detached job. */
    ATTACH("show the console of a job that --detach started, until the job ends", "follow watch"),
    /** Stops a job. */
    CANCEL("stop a job, as Ctrl-C does", "stop abort delete scancel terminate"),
    /** Asks workers where they are. */
    STACK("show where each worker of a job is: its current collective and its stacks", "stacks jstack"),
    /** Reads what the ranks of a failed job have left of their last collectives. */
    FLIGHT_RECORDER("find the rank that diverged, from the log folder of a failed job", "flight"),
    /** Hands a job to Slurm. */
    SUBMIT("submit a job to Slurm", "sbatch"),
    /** Looks at this machine. */
    DOCTOR("check that this machine, or each of --hosts, has what jobs need", "check verify"),
    /** Runs the benchmarks. */
    BENCH("measure collectives and training steps", "benchmark perf"),
    /** Serves jrun commands of this and other hosts. */
    AGENT("run a standing agent on this host, for jobs on several hosts", "daemon server"),
    /** Makes certificates. */
    CERT("make certificates for hosts and users, instead of a shared secret", "certificate"),
    /** Prints the completion script. */
    COMPLETION("print a completion script for bash and zsh: source <(jrun completion)", "complete"),
    /** Prints the version. */
    VERSION("print the versions of jrun and of the JDK that runs it", "");

    private final String description;
    private final String otherNames;

    /** @param otherNames what other tools call such a command, for suggestions only */
    SubCommand(String description, String otherNames) {
        this.description = description;
        this.otherNames = otherNames;
    }

    /** The sub-command that {@code word} is the name of. */
    public static Optional<SubCommand> of(String word) {
        return Arrays.stream(values())
                .filter(command -> command.word().equals(word))
                .findFirst();
    }

    /** The sub-command that {@code word} was probably meant to be: by its meaning, else by its letters. */
    static Optional<SubCommand> near(String word) {
        return Arrays.stream(values())
                .filter(command -> List.of(command.otherNames.split(" ", -1)).contains(word))
                .findFirst()
                .or(() -> Suggestion.nearest(word, names(), Math.max(1, word.length() / 3))
                        .flatMap(SubCommand::of));
    }

    static List<String> names() {
        return Arrays.stream(values()).map(SubCommand::word).toList();
    }

    String description() {
        return description;
    }

    /** Its name on the command line. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
