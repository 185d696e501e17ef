package io.jrun.launcher.cli;

import io.jrun.launcher.slurm.BatchScript;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
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

    /** Whether {@code name} is an option of sbatch that {@code jrun submit} takes. */
    static boolean isOfSbatch(String name) {
        return SBATCH_VALUES.contains(name) || SBATCH_SWITCHES.contains(name);
    }

    /**
     * Reads the words after {@code submit}.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    public static SubmitRequest parse(List<String> args, CommandContext commandContext) {
        Parted parted = Parted.of(args);
        OptionScanner.Scanned scanned = OptionScanner.scan(parted.own);
        var _ = ResolvedOptions.ofCommandLine(scanned); // refuses here what the job would refuse hours later
        return new SubmitRequest(
                new BatchScript(
                        withDefaults(parted.sbatch, scanned),
                        Stream.concat(Stream.of(commandContext.command().toString()), parted.own.stream())
                                .toList()),
                parted.print);
    }

    /** The options of {@code jrun submit} that jrun itself does not have. */
    static List<String> optionNames() {
        return Stream.of(SBATCH_VALUES.stream(), SBATCH_SWITCHES.stream(), Stream.of("--print"))
                .flatMap(names -> names)
                .sorted()
                .toList();
    }

    /** Those of them that take a value. */
    static Set<String> optionsWithValues() {
        return SBATCH_VALUES;
    }

    /** Whether {@code args} ask for help, before PROGRAM. */
    public static boolean asksForHelp(List<String> args) {
        return Parted.of(args).help;
    }

    /** A command line, parted into options of sbatch and what the script gives to jrun. Confined to one thread. */
    private static final class Parted {
        private final List<String> args;
        private final List<String> sbatch = new ArrayList<>();
        private final List<String> own = new ArrayList<>();
        private boolean print;
        private boolean help;
        private int next;

        private Parted(List<String> args) {
            this.args = args;
        }

        static Parted of(List<String> args) {
            Parted parted = new Parted(args);
            while (parted.next < args.size() && args.get(parted.next).startsWith("-")) {
                String word = args.get(parted.next);
                if (word.equals("--")) {
                    break;
                }
                parted.next++;
                parted.option(word);
            }
            parted.own.addAll(args.subList(parted.next, args.size()));
            return parted;
        }

        private void option(String word) {
            String name = OptionScanner.dashed(word.replaceFirst("(?s)=.*", ""));
            if (word.equals("--print")) {
                print = true;
            } else if (OptionScanner.HELP.contains(word)) {
                help = true;
            } else if (SBATCH_SWITCHES.contains(name)) {
                sbatch.add(dashed(word));
            } else if (SBATCH_VALUES.contains(name)) {
                sbatch.add(word.contains("=") ? dashed(word) : name + "=" + value(name));
            } else {
                own.add(word);
                if (takesNext(word) && next < args.size()) {
                    own.add(args.get(next));
                    next++;
                }
            }
        }

        private String value(String name) {
            if (next == args.size()) {
                throw new UsageException(name + " needs a value; usage: " + USAGE + ".");
            }
            next++;
            return args.get(next - 1);
        }
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
        String names = Stream.concat(SBATCH_VALUES.stream(), SBATCH_SWITCHES.stream())
                .sorted()
                .collect(Collectors.joining(" "));
        return new HelpPage(USAGE)
                .about(
                        "Submits a job to Slurm: writes a batch script that runs 'jrun [jrun's options] PROGRAM [args...]' and"
                                + " hands it to sbatch.",
                        "",
                        "Example:",
                        "  jrun submit --nnodes=2 --gpus-per-node=8 --time=1:00:00 train.jar --epochs 3")
                .option(HelpPage.flag(List.of("--print"), "Show the script and submit nothing."))
                .option(HelpPage.help())
                .footer(
                        "",
                        "Options of sbatch, by their long names (--time in minutes, as Slurm has it; --nnodes sets --nodes too):",
                        names,
                        "",
                        "'jrun --help' shows the options of jrun.")
                .text();
    }
}
