package io.jrun.launcher.cli;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** What jrun does besides running a program, chosen by its first word. */
public enum SubCommand {
    /** Prints the version. */
    VERSION("print jrun's version and the JDK it runs on"),
    /** Serves jrun commands of this and other hosts. */
    AGENT("run a standing agent on this host, for jobs over several (see --hosts)"),
    /** Hands a job to Slurm. */
    SUBMIT("submit a job to Slurm: 'jrun submit --nnodes=2 --gpus-per-node=8 --time=60 train.jar'"),
    /** Runs the benchmarks. */
    BENCH("measure collectives or DDP: 'jrun bench allreduce --nproc-per-node=2'"),
    /** Reads what the ranks of a failed job have left of their last collectives. */
    FLIGHT_RECORDER("say from a failed job's log folder which rank diverged and where"),
    /** Lists jobs. */
    PS("list the jobs that run; -a: those that have ended as well"),
    /** Tells all of a job. */
    DESCRIBE("say all that is known of a job, also after its end"),
    /** Shows what workers have written. */
    LOGS("show what a job's workers have written; -f: and go on with what they write"),
    /** Watches a detached job. */
    ATTACH("show the console of a job that was started with --detach, until its end"),
    /** Stops a job. */
    CANCEL("stop a job as Ctrl-C does"),
    /** Asks workers where they are. */
    STACK("say where each worker of a job is: among its collectives, and its stacks"),
    /** Makes certificates. */
    CERT("make certificates for hosts and users, in place of a secret that all share"),
    /** Looks at this machine. */
    DOCTOR("say whether this machine, or with --hosts each of these, has what jobs need"),
    /** Prints the completion script. */
    COMPLETION("print a completion script: source <(jrun completion)");

    private final String description;

    SubCommand(String description) {
        this.description = description;
    }

    /** The sub-command that {@code word} is the name of. */
    public static Optional<SubCommand> of(String word) {
        return Arrays.stream(values())
                .filter(command -> command.word().equals(word))
                .findFirst();
    }

    static List<String> names() {
        return Arrays.stream(values()).map(SubCommand::word).toList();
    }

    static Map<String, String> descriptions() {
        Map<String, String> descriptions = new LinkedHashMap<>();
        for (SubCommand command : values()) {
            descriptions.put("%-15s".formatted(command.word()), command.description);
        }
        return descriptions;
    }

    String description() {
        return description;
    }

    String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
