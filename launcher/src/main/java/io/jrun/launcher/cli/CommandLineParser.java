package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Stack;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * Parses one command line with picocli, and makes errors for users. Confined to one thread.
 *
 * <p>The class implements no type of picocli. The JVM's class-data archive leaves out such classes together with their
 * lambdas, because picocli has an old class format.
 */
final class CommandLineParser {
    private List<String> args;
    private final Optional<SubCommand> command;
    private final Map<CommandLineOption, List<String>> options = new LinkedHashMap<>();

    CommandLineParser(List<String> args) {
        this.args = List.copyOf(args);
        this.command = args.isEmpty() ? Optional.empty() : SubCommand.of(args.getFirst());
    }

    ParsedCommand parse() {
        CommandLine jrun = new CommandLine(CommandModel.of(command, args, new ValueReceiver(this::receive)));
        CommandLine called =
                command.map(name -> jrun.getSubcommands().get(name.word())).orElse(jrun);
        try {
            jrun.parseArgs(args.toArray(String[]::new));
        } catch (UnmatchedArgumentException e) {
            String unmatched = e.getUnmatched().getFirst();
            Optional<String> whole = isOfJob() ? Abbreviation.expand(unmatched) : Optional.empty();
            if (whole.isPresent()) {
                args = replaced(unmatched, whole.get());
                options.clear();
                return parse(); // ends, because each call replaces one word by the name of an option
            }
            refuseUnknown(unmatched);
        } catch (ParameterException e) {
            throw e.getCause() instanceof UsageException refusal ? refusal : new UsageException(e.getMessage() + ".");
        }
        return parsed(words(called.getCommandSpec()));
    }

    /** Whether the line has the options of a job and not those of a benchmark, which has options of its own. */
    private boolean isOfJob() {
        return command.isEmpty() || command.get() == SubCommand.SUBMIT;
    }

    private List<String> replaced(String word, String whole) {
        List<String> line = new ArrayList<>(args);
        line.set(line.indexOf(word), whole);
        return List.copyOf(line);
    }

    private ParsedCommand parsed(List<String> words) {
        boolean needsWord = command.isPresent() && command.get().operand().isNeeded() && !requestsHelp();
        if (needsWord && (words.isEmpty() || words.getFirst().isEmpty())) {
            throw missingOperand();
        }
        return new ParsedCommand(command, options, words, args.subList(0, args.size() - words.size()));
    }

    private static List<String> words(CommandSpec spec) {
        return spec.positionalParameters().isEmpty()
                ? List.of()
                : spec.positionalParameters().getFirst().stringValues();
    }

    /**
     * The value of an option as the user wrote the value. picocli's own rule refuses values that begin as an option
     * does, as in {@code --ssh-options=-t}.
     */
    private void receive(CommandLineOption option, String separator, Stack<String> rest, CommandSpec spec) {
        boolean isAttached = separator.equals("=") || (separator.isEmpty() && !option.isSwitch());
        if (!isAttached
                && !option.isSwitch()
                && (rest.isEmpty() || spec.optionsMap().containsKey(rest.peek()))) {
            String follows = rest.isEmpty() ? "" : ", but '" + rest.peek() + "' follows";
            throw new UsageException(option.longName() + " needs a value" + follows + ": " + option.longName() + "="
                    + option.parameter() + ".");
        }
        if (option == LaunchOption.NTASKS && separator.isEmpty() && !rest.peek().matches("[0-9]+")) {
            throw UnknownOption.refused("-n" + rest.peek(), args); // -npernode of mpirun
        }
        options.computeIfAbsent(option, _ -> new ArrayList<>())
                .add(isAttached || !option.isSwitch() ? rest.pop() : CommandModel.ON);
    }

    /** Refuses {@code unmatched}, unless the line requests help. */
    private void refuseUnknown(String unmatched) {
        boolean isWhole = args.contains(unmatched);
        if (isWhole && requestsHelp()) {
            return;
        }
        String word = isWhole ? unmatched : wordWithEnd(unmatched.substring(1));
        if (isOfJob()) {
            var _ = ResolvedOptions.ofCommandLine(new ParsedCommand(command, options, List.of(), args));
            throw UnknownOption.refused(word, args);
        }
        throw new UsageException((word.startsWith("-")
                        ? "unknown option '" + word.replaceFirst("(?s)=.*", "") + "'"
                        : "'" + word + "' is one word too many")
                + "; usage: " + command.get().usage() + ".");
    }

    /**
     * The whole word of an unmatched rest. For -hostfile, which begins with the short option -h, picocli reports the
     * rest.
     */
    private String wordWithEnd(String end) {
        return args.stream().filter(arg -> arg.endsWith(end)).findFirst().orElse(end);
    }

    private boolean requestsHelp() {
        return options.containsKey(CommandOption.HELP)
                || options.containsKey(CommandOption.BRIEF_HELP)
                || options.containsKey(CommandOption.WHOLE_HELP);
    }

    private UsageException missingOperand() {
        SubCommand called = command.orElseThrow();
        return new UsageException(called.operand().label() + " is missing; usage: " + called.usage() + "."
                + (called.operand() == Operand.JOB ? " 'jrun ps' shows the jobs." : ""));
    }
}
