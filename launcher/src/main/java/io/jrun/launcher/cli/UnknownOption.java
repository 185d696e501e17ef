package io.jrun.launcher.cli;

import io.jrun.comm.spelling.SimilarName;
import io.jrun.launcher.job.UsageException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/**
 * Makes the error for an unknown option, with a suggestion: by its meaning in other launchers, else by its letters.
 * Stateless.
 */
final class UnknownOption {
    private static final Pattern SHORT_WITH_NUMBER = Pattern.compile("(-[A-Za-z]+)=?([0-9]+(?:-[0-9]+)?)");
    private static final Pattern PLACEHOLDER = Pattern.compile("\\{([^}]*)}");

    private static final int MINUTE = 60;
    private static final int HOUR = 60 * MINUTE;

    private UnknownOption() {}

    /**
     * Returns the error for {@code word}.
     *
     * @param word the option as written, with its value if the value is in the same word
     * @param line the whole command line, which has the value if the value is a word of its own
     */
    static UsageException refused(String word, List<String> line) {
        Matcher shortWithNumber = SHORT_WITH_NUMBER.matcher(word);
        String name = shortWithNumber.matches() ? shortWithNumber.group(1) : word.replaceFirst("(?s)=.*", "");
        String dashed = CommandModel.dashed(name);
        String what = "unknown option '" + name + "'";
        Optional<ForeignOption> foreign = ForeignOption.of(dashed);
        if (foreign.isPresent()) {
            return new UsageException(
                    what + " (" + foreign.get().description() + "); " + advice(foreign.get(), allOptions(line)) + ".");
        }
        if (SbatchOption.of(dashed).isPresent()) {
            return new UsageException(
                    what + " (an option of sbatch); give it to 'jrun submit', and leave it out inside an allocation.");
        }
        List<String> known = CommandModel.ofJobs().stream()
                .flatMap(option -> option.names().stream())
                .toList();
        return new UsageException(what
                + SimilarName.of(dashed, known)
                        .map(option -> "; did you mean '" + option + "'?")
                        .orElse("; 'jrun --help' lists the options."));
    }

    /** Refuses the variables of torchrun's options that jrun lacks. An empty list is torchrun's default. */
    static void refuseFilters(Map<String, String> environment) {
        for (String name : ForeignOption.LINE_FILTERS.names()) {
            String variable = "PET_" + name.substring(2).replace('-', '_').toUpperCase(Locale.ROOT);
            String value = environment.getOrDefault(variable, "");
            if (!value.isEmpty() && !value.equals("[]")) {
                throw new UsageException("no option has the environment variable '" + variable + "' ("
                        + ForeignOption.LINE_FILTERS.description() + "); " + ForeignOption.LINE_FILTERS.advice() + ".");
            }
        }
    }

    /** Reads the options of jrun and of other launchers in the line. */
    private static Map<CommandLineOption, String> allOptions(List<String> line) {
        Map<CommandLineOption, String> values = new HashMap<>();
        List<CommandLineOption> known = new ArrayList<>(List.of(LaunchOption.values()));
        known.addAll(List.of(ForeignOption.values()));
        CommandSpec spec = CommandModel.command(known, Operand.PROGRAM, (rest, _, option, info) -> {
            boolean hasValue = !rest.isEmpty()
                    && (!" ".equals(info.get("separator")) || !rest.peek().startsWith("-"));
            values.put((CommandLineOption) option.userObject(), hasValue ? rest.pop() : "");
            return true;
        });
        new CommandLine(spec).setUnmatchedArgumentsAllowed(true).parseArgs(line.toArray(String[]::new));
        return values;
    }

    private static String advice(ForeignOption option, Map<CommandLineOption, String> line) {
        String value = line.getOrDefault(option, "");
        if ((option == ForeignOption.NODES_OR_RANKS_PER_NODE || option == ForeignOption.NODES)
                && value.matches("[0-9]+-[0-9]+")) {
            return "use --nnodes=" + value.replace('-', ':'); // srun's MIN-MAX
        }
        return option == ForeignOption.TIME_LIMIT
                ? filledIn(option.advice(), ofSlurm(value))
                : filledIn(option.advice(), value);
    }

    private static String filledIn(String advice, String value) {
        return PLACEHOLDER
                .matcher(advice)
                .replaceAll(place -> Matcher.quoteReplacement(value.isEmpty() ? place.group(1) : value));
    }

    /** Translates a time of Slurm into a time of jrun. Returns "" for a text that is no time. */
    private static String ofSlurm(String text) {
        long seconds;
        try {
            seconds = OptionValues.slurmTime(text, ForeignOption.TIME_LIMIT.longName())
                    .toSeconds();
        } catch (UsageException e) {
            return "";
        }
        return seconds % HOUR == 0
                ? seconds / HOUR + "h"
                : seconds % MINUTE == 0 ? seconds / MINUTE + "m" : seconds + "s";
    }
}
