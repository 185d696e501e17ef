package io.jrun.launcher.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The parts of a command line.
 *
 * @param command the command of jrun, empty for a job
 * @param options each option with its values, in the order in which the options first appear
 * @param words PROGRAM and its arguments unchanged, or the operands of the command
 * @param typed the words before {@code words}, as the user wrote them
 */
public record ParsedCommand(
        Optional<SubCommand> command,
        Map<CommandLineOption, List<String>> options,
        List<String> words,
        List<String> typed) {
    /** Reads a command line: the words after {@code jrun}. */
    public static ParsedCommand of(List<String> args) {
        return new CommandLineParser(args).parse();
    }

    /** Whether the command line has {@code option}. */
    public boolean has(CommandLineOption option) {
        return options.containsKey(option);
    }

    /** The last value of {@code option}. */
    public Optional<String> value(CommandLineOption option) {
        return Optional.ofNullable(options.get(option)).map(List::getLast);
    }

    /** The first word, or {@code otherwise} without words. */
    public String word(String otherwise) {
        return words.isEmpty() ? otherwise : words.getFirst();
    }

    /** The long name of {@code option} that the user has written. */
    String called(CommandLineOption option) {
        return option.names().stream()
                .filter(name -> name.startsWith("--") && typed.stream().anyMatch(word -> isCalled(word, name)))
                .findFirst()
                .orElse(option.longName());
    }

    private static boolean isCalled(String word, String name) {
        String dashed = CommandModel.dashed(word);
        return dashed.equals(name) || dashed.startsWith(name + "=");
    }

    /** The short name of {@code option}, if the user wrote the name and the value as two words. */
    Optional<String> shortNameBeforeValue(CommandLineOption option) {
        return option.names().stream()
                .filter(name -> !name.startsWith("--") && typed.contains(name))
                .findFirst();
    }

    /** The command line in one form for all spellings. Lacks the values of {@code --env}, which may be secrets. */
    public List<String> withoutSecrets() {
        List<String> line = new ArrayList<>(List.of("jrun"));
        command.map(SubCommand::word).ifPresent(line::add);
        options.forEach((option, values) -> values.forEach(value -> line.add(
                option == LaunchOption.ENV ? "--env=" + value.replaceFirst("(?s)=.*", "=...") : text(option, value))));
        line.addAll(words);
        return line;
    }

    /** The options of one kind as words of a command line. */
    List<String> texts(Class<? extends CommandLineOption> kind) {
        return options.entrySet().stream()
                .filter(entry -> kind.isInstance(entry.getKey()))
                .flatMap(entry -> entry.getValue().stream().map(value -> text(entry.getKey(), value)))
                .toList();
    }

    private static String text(CommandLineOption option, String value) {
        return option.isSwitch() && value.equals(CommandModel.ON) ? option.longName() : option.longName() + "=" + value;
    }
}
