package io.jrun.launcher.cli;

import io.jrun.launcher.slurm.BatchScript;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What {@code jrun submit} was asked for.
 *
 * @param print whether the script is to be shown, not submitted
 */
public record SubmitRequest(BatchScript script, boolean print) {
    private static final String USAGE = "jrun submit [sbatch's options] [jrun's options] PROGRAM [args...]";

    /** Of sbatch's options those that jobs of jrun need, by their long names. */
    private static final Set<String> SBATCH_VALUES = Set.of(
            "--account",
            "--array",
            "--begin",
            "--clusters",
            "--comment",
            "--constraint",
            "--cpus-per-gpu",
            "--cpus-per-task",
            "--deadline",
            "--dependency",
            "--error",
            "--gpus",
            "--gpus-per-node",
            "--gpus-per-task",
            "--gres",
            "--job-name",
            "--licenses",
            "--mail-type",
            "--mail-user",
            "--mem",
            "--mem-per-cpu",
            "--mem-per-gpu",
            "--nice",
            "--nodelist",
            "--nodes",
            "--ntasks-per-node",
            "--open-mode",
            "--output",
            "--partition",
            "--priority",
            "--qos",
            "--reservation",
            "--signal",
            "--switches",
            "--time",
            "--time-min",
            "--tmp",
            "--wckey");

    private static final Set<String> SBATCH_SWITCHES =
            Set.of("--exclusive", "--hold", "--no-kill", "--no-requeue", "--requeue");

    /**
     * Reads the words after {@code submit}.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    public static SubmitRequest parse(List<String> args, Surroundings surroundings) {
        List<String> sbatch = new ArrayList<>();
        List<String> own = new ArrayList<>();
        boolean print = false;
        int next = 0;
        while (next < args.size() && args.get(next).startsWith("-")) {
            String word = args.get(next);
            String name = OptionScanner.dashed(word.replaceFirst("=.*", ""));
            next++;
            if (word.equals("--print")) {
                print = true;
            } else if (SBATCH_SWITCHES.contains(name)) {
                sbatch.add(dashed(word));
            } else if (SBATCH_VALUES.contains(name)) {
                if (word.contains("=")) {
                    sbatch.add(dashed(word));
                } else if (next < args.size()) {
                    sbatch.add(name + "=" + args.get(next));
                    next++;
                } else {
                    throw new UsageException(name + " needs a value; usage: " + USAGE + ".");
                }
            } else {
                own.add(word);
                if (takesNext(word) && next < args.size()) {
                    own.add(args.get(next));
                    next++;
                }
                if (word.equals("--")) {
                    break;
                }
            }
        }
        own.addAll(args.subList(next, args.size()));
        OptionScanner.Scanned scanned = OptionScanner.scan(own);
        return new SubmitRequest(
                new BatchScript(
                        withDefaults(sbatch, scanned),
                        Stream.concat(Stream.of(surroundings.command().toString()), own.stream())
                                .toList()),
                print);
    }

    /** Whether a word is an option of jrun's whose value is the next. */
    private static boolean takesNext(String word) {
        return !word.contains("=")
                && Stream.of(LaunchOption.values())
                        .anyMatch(option -> !option.isSwitch() && option.names().contains(OptionScanner.dashed(word)));
    }

    private static String dashed(String word) {
        String name = word.replaceFirst("=.*", "");
        return OptionScanner.dashed(name) + word.substring(name.length());
    }

    private static List<String> withDefaults(List<String> sbatch, OptionScanner.Scanned jrun) {
        List<String> options = new ArrayList<>(sbatch);
        String program = jrun.words().isEmpty()
                ? Optional.ofNullable(jrun.options().get(LaunchOption.FILE))
                        .map(List::getLast)
                        .orElseThrow(() -> new UsageException("PROGRAM is missing; usage: " + USAGE + "."))
                : jrun.words().getFirst();
        addIfMissing(options, "--job-name", program.replaceFirst(".*/", ""));
        addIfMissing(options, "--output", "%x-%j.out");
        addIfMissing(options, "--open-mode", "append"); // a job that is requeued goes on in the same file
        List<String> nodes = jrun.options().get(LaunchOption.NNODES);
        if (nodes != null) {
            int spares = number(jrun.options()
                    .getOrDefault(LaunchOption.SPARES, List.of("0"))
                    .getLast());
            addIfMissing(options, "--nodes", withSpares(nodes.getLast(), spares));
            boolean outlivesNodes = nodes.getLast().contains(":") || spares > 0;
            if (outlivesNodes && !options.contains("--no-kill")) {
                options.add("--no-kill"); // or Slurm ends the job with its first lost node
            }
        }
        return options;
    }

    /** As many nodes as --nnodes asks for, and those that stand by: as sbatch's --nodes. */
    private static String withSpares(String nnodes, int spares) {
        List<String> bounds = new ArrayList<>(List.of(nnodes.split(":", -1)));
        bounds.set(bounds.size() - 1, Integer.toString(number(bounds.getLast()) + spares));
        return String.join("-", bounds);
    }

    private static int number(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new UsageException("--nnodes, --spares: '" + text + "' is not a number; usage: " + USAGE + ".");
        }
    }

    private static void addIfMissing(List<String> options, String name, String value) {
        if (options.stream().noneMatch(option -> option.startsWith(name + "="))) {
            options.add(name + "=" + value);
        }
    }

    /** What {@code jrun submit --help} prints. */
    public static String help() {
        return "Usage: " + USAGE + "\n"
                + "Submits a job to Slurm: writes a script that runs 'jrun [jrun's options] PROGRAM args' and hands it to sbatch.\n"
                + "      --print  show the script, submit nothing\n"
                + "sbatch's options that may be given, by their long names; --nnodes is --nodes too:\n"
                + wrapped(Stream.concat(SBATCH_VALUES.stream(), SBATCH_SWITCHES.stream())
                        .sorted()
                        .toList());
    }

    private static String wrapped(List<String> words) {
        StringBuilder text = new StringBuilder();
        int column = 0;
        for (String word : words) {
            if (column + word.length() > 100) {
                text.append('\n');
                column = 0;
            }
            String piece = (column == 0 ? "      " : " ") + word;
            text.append(piece);
            column += piece.length();
        }
        return text.append('\n').toString();
    }
}
