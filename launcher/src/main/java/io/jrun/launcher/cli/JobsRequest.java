package io.jrun.launcher.cli;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What one of the commands about jobs, {@code ps} and its kin, was asked for.
 *
 * @param job a run id, its unambiguous beginning, or a log folder; empty for {@code ps}
 * @param ranks the ranks meant, empty for all
 */
public record JobsRequest(SubCommand command, String job, Set<Flag> flags, Optional<Set<Integer>> ranks) {
    private static final String RANK = "--rank";

    public JobsRequest {
        flags = Set.copyOf(flags);
    }

    /** A switch. */
    public enum Flag {
        /** Ended jobs too. */
        ALL("--all", "-a", "List the jobs that have ended too."),
        /** For machines. */
        JSON("--json", "", "Print one JSON object instead of text."),
        /** Go on with what comes. */
        FOLLOW("--follow", "-f", "Follow the output until the job ends."),
        /** Without the grace period. */
        NOW("--now", "", "Send SIGKILL at once, without the grace period.");

        private final String name;
        private final String shortName;
        private final String description;

        Flag(String name, String shortName, String description) {
            this.name = name;
            this.shortName = shortName;
            this.description = description;
        }

        private String usage() {
            return " [" + (shortName.isEmpty() ? name : shortName) + "]";
        }

        private List<String> names() {
            return shortName.isEmpty() ? List.of(name) : List.of(shortName, name);
        }
    }

    /** Whether {@code flag} was given. */
    public boolean has(Flag flag) {
        return flags.contains(flag);
    }

    /**
     * Reads the words after {@code command}.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    public static JobsRequest parse(SubCommand command, List<String> args) {
        EnumSet<Flag> flags = EnumSet.noneOf(Flag.class);
        Optional<Set<Integer>> ranks = Optional.empty();
        String job = "";
        for (int i = 0; i < args.size(); i++) {
            String word = args.get(i);
            Optional<Flag> flag = allowed(command).stream()
                    .filter(known -> word.equals(known.name) || word.equals(known.shortName))
                    .findFirst();
            if (flag.isPresent()) {
                flags.add(flag.get());
            } else if (takesRanks(command) && word.startsWith(RANK + "=")) {
                ranks = Optional.of(OptionValues.ranks(word.substring(RANK.length() + 1), RANK));
            } else if (takesRanks(command) && word.equals(RANK) && i + 1 < args.size()) {
                i++;
                ranks = Optional.of(OptionValues.ranks(args.get(i), RANK));
            } else if (word.startsWith("-")) {
                throw new UsageException("unknown option '" + word + "'; usage: " + usage(command) + ".");
            } else if (command == SubCommand.PS || !job.isEmpty()) {
                throw new UsageException("'" + word + "' is one word too many; usage: " + usage(command) + ".");
            } else {
                job = word;
            }
        }
        if (command != SubCommand.PS && job.isEmpty()) {
            throw new UsageException("JOB is missing; usage: " + usage(command) + ". 'jrun ps' shows the jobs.");
        }
        return new JobsRequest(command, job, flags, ranks);
    }

    /** What {@code jrun COMMAND --help} prints. */
    public static String help(SubCommand command) {
        HelpPage page = new HelpPage(usage(command)).about(HelpText.sentence(command));
        if (command != SubCommand.PS) {
            page.word("JOB", "Run id of the job, the beginning of one, or its log folder. 'jrun ps' shows the jobs.");
        }
        allowed(command).forEach(flag -> page.option(HelpPage.flag(flag.names(), flag.description)));
        if (takesRanks(command)) {
            page.option(HelpPage.value(List.of(RANK), "RANKS", "Only these ranks: 0,2-5. Default: all."));
        }
        return page.option(HelpPage.help()).text();
    }

    /** The options of {@code command}. */
    static List<String> optionNames(SubCommand command) {
        Stream<String> flags = allowed(command).stream().flatMap(flag -> flag.names().stream());
        return Stream.concat(flags, takesRanks(command) ? Stream.of(RANK) : Stream.empty())
                .toList();
    }

    private static String usage(SubCommand command) {
        StringBuilder text = new StringBuilder("jrun ").append(command.word());
        if (command != SubCommand.PS) {
            text.append(" JOB");
        }
        allowed(command).forEach(flag -> text.append(flag.usage()));
        return text.append(takesRanks(command) ? " [" + RANK + "=RANKS]" : "").toString();
    }

    private static List<Flag> allowed(SubCommand command) {
        return Arrays.stream(Flag.values())
                .filter(flag -> switch (flag) {
                    case ALL -> command == SubCommand.PS;
                    case JSON -> command == SubCommand.PS || command == SubCommand.DESCRIBE;
                    case FOLLOW -> command == SubCommand.LOGS;
                    case NOW -> command == SubCommand.CANCEL;
                })
                .toList();
    }

    private static boolean takesRanks(SubCommand command) {
        return command == SubCommand.LOGS || command == SubCommand.STACK;
    }
}
