package io.jrun.launcher.cli;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

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
        ALL("--all", "-a", "also the jobs that have ended"),
        /** For machines. */
        JSON("--json", "", "one JSON object instead of text"),
        /** Go on with what comes. */
        FOLLOW("--follow", "-f", "go on with what is being written, until the job's end"),
        /** Without the grace period. */
        NOW("--now", "", "SIGKILL at once, without the grace period");

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

        private String help() {
            return "%n  %-22s %s".formatted(shortName.isEmpty() ? name : shortName + ", " + name, description);
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
                ranks = Optional.of(Values.ranks(word.substring(RANK.length() + 1), RANK));
            } else if (takesRanks(command) && word.equals(RANK) && i + 1 < args.size()) {
                i++;
                ranks = Optional.of(Values.ranks(args.get(i), RANK));
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
        StringBuilder text = new StringBuilder("Usage: ").append(usage(command));
        text.append("\n").append(command.description()).append('.');
        if (command != SubCommand.PS) {
            text.append("%n  %-22s %s"
                    .formatted(
                            "JOB", "the job's run id, the beginning of one, or its log folder; 'jrun ps' shows jobs"));
        }
        allowed(command).forEach(flag -> text.append(flag.help()));
        if (takesRanks(command)) {
            text.append("%n  %-22s %s".formatted(RANK + "=RANKS", "only these ranks, as 0,2-5"));
        }
        return text.append('\n').toString();
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
