package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.kubernetes.IndexedJob;
import io.jrun.launcher.slurm.BatchScript;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The request of a {@code jrun submit} command line. */
public sealed interface SubmitRequest {
    /**
     * A job for Slurm.
     *
     * @param print whether jrun prints the script and submits nothing, by {@code --print} or {@code --dry-run}
     */
    record ToSlurm(BatchScript script, boolean print) implements SubmitRequest {}

    /** A job for Kubernetes, which jrun prints. */
    record ToKubernetes(IndexedJob job) implements SubmitRequest {}

    /**
     * Reads the command line.
     *
     * @throws UsageException with one line, if the request is impossible
     */
    static SubmitRequest of(ParsedCommand line, CommandContext commandContext) {
        var _ = ResolvedOptions.ofCommandLine(line); // refuse now the settings that the job would refuse hours later
        String scheduler = line.value(CommandOption.TO).orElse("slurm");
        if (scheduler.equals("kubernetes")) {
            return new ToKubernetes(IndexedJobReader.read(line, IndexedJob.Controller.JOB));
        }
        if (scheduler.equals("jobset")) {
            return new ToKubernetes(IndexedJobReader.read(line, IndexedJob.Controller.JOB_SET));
        }
        if (!scheduler.equals("slurm") || line.has(CommandOption.POD_IMAGE)) {
            throw scheduler.equals("slurm")
                    ? new UsageException(CommandOption.POD_IMAGE.longName() + " is for --to=kubernetes; with Slurm use"
                            + " --container-image.")
                    : OptionValues.refused(CommandOption.TO.longName(), scheduler, "slurm, kubernetes or jobset");
        }
        List<String> command = new ArrayList<>(List.of(commandContext.command().toString()));
        command.addAll(line.texts(LaunchOption.class));
        boolean print = command.remove(LaunchOption.DRY_RUN.longName()) || line.has(CommandOption.PRINT);
        if (line.word("").startsWith("-")) {
            command.add("--");
        }
        command.addAll(line.words());
        return new ToSlurm(new BatchScript(withDefaults(line), command), print);
    }

    private static List<String> withDefaults(ParsedCommand line) {
        List<String> options = new ArrayList<>(line.texts(SbatchOption.class));
        String program = Optional.of(line.word(""))
                .filter(word -> !word.isEmpty())
                .or(() -> line.value(LaunchOption.FILE))
                .orElseThrow(() -> new UsageException("PROGRAM is missing; usage: " + SubCommand.SUBMIT.usage() + "."));
        addIfMissing(options, "--job-name", program.replaceFirst(".*/", ""));
        addIfMissing(options, "--output", "%x-%j.out");
        addIfMissing(options, "--open-mode", "append"); // a requeued job continues the same file
        line.value(LaunchOption.NTASKS).ifPresent(workers -> addIfMissing(options, "--ntasks", workers));
        line.value(LaunchOption.NNODES).ifPresent(nodes -> {
            int spares = number(line.value(LaunchOption.SPARES).orElse("0"));
            addIfMissing(options, "--nodes", withSpares(nodes, spares));
            boolean outlivesNodes = nodes.contains(":") || spares > 0;
            if (outlivesNodes && !options.contains("--no-kill")) {
                options.add("--no-kill"); // without this option Slurm ends the job when it loses a node
            }
        });
        return options;
    }

    /** The value of sbatch's --nodes: the number of --nnodes plus the spare nodes. */
    private static String withSpares(String nnodes, int spares) {
        List<String> bounds = new ArrayList<>(List.of(nnodes.split(":", -1)));
        bounds.set(bounds.size() - 1, Integer.toString(number(bounds.getLast()) + spares));
        return String.join("-", bounds);
    }

    private static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new UsageException("--nnodes, --spares: '" + text + "' is not a number.");
        }
    }

    private static void addIfMissing(List<String> options, String name, String value) {
        if (options.stream().noneMatch(option -> option.startsWith(name + "="))) {
            options.add(name + "=" + value);
        }
    }
}
