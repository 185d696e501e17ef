package io.jrun.launcher.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import picocli.CommandLine.IParameterPreprocessor;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.Range;

/**
 * picocli's model of a command line, made from {@link LaunchOption}, {@link CommandOption} and {@link SubCommand}. Only
 * the command that the line calls is in the model, since each start of jrun makes a new model. Stateless.
 */
final class CommandModel {
    /** The value of a switch that is given without a value. */
    static final String ON = "true";

    private static final Range ONE = Range.valueOf("1");

    private CommandModel() {}

    /**
     * The model for a line of the command {@code called}; without {@code called}, for the line of a job. The model has
     * only the options that a word of the line may name, because each option of a model takes time at the start.
     *
     * @param line the words after {@code jrun}
     * @param values receives the value of each option of the line
     */
    static CommandSpec of(Optional<SubCommand> called, List<String> line, IParameterPreprocessor values) {
        CommandSpec jrun = called.isPresent()
                ? CommandSpec.create()
                        .addSubcommand(
                                called.get().word(),
                                command(
                                        named(called.get().options(), line),
                                        called.get().operand(),
                                        values))
                : command(named(ofJobs(), line), Operand.PROGRAM, values);
        return jrun.name("jrun");
    }

    /** The options that a word of {@code line} may name. */
    private static List<CommandLineOption> named(List<CommandLineOption> options, List<String> line) {
        List<String> words = new ArrayList<>();
        for (String word : line) {
            if (word.startsWith("-")) {
                words.add(dashed(word));
            }
        }
        List<CommandLineOption> named = new ArrayList<>();
        for (CommandLineOption option : options) {
            if (isNamed(option, words)) {
                named.add(option);
            }
        }
        return named;
    }

    /** Whether a word of {@code words} begins with a name of {@code option}, or may have its letter among others. */
    private static boolean isNamed(CommandLineOption option, List<String> words) {
        for (String name : option.names()) {
            for (String word : words) {
                boolean isLong = name.startsWith("--");
                if (isLong ? word.startsWith(name) : !word.startsWith("--") && word.indexOf(name.charAt(1)) > 0) {
                    return true;
                }
            }
        }
        return false;
    }

    /** The options of {@code jrun} without a command. */
    static List<CommandLineOption> ofJobs() {
        return Stream.<CommandLineOption>concat(
                        Arrays.stream(LaunchOption.values()),
                        Stream.of(CommandOption.BRIEF_HELP, CommandOption.WHOLE_HELP, CommandOption.VERSION))
                .toList();
    }

    /** A command with {@code options}. A name of two options belongs to the first. */
    static CommandSpec command(
            Collection<? extends CommandLineOption> options, Operand operand, IParameterPreprocessor values) {
        CommandSpec spec = CommandSpec.create();
        spec.parser()
                .stopAtPositional(operand.endsOptions())
                .unmatchedOptionsArePositionalParams(operand.takesUnknownOptions());
        for (CommandLineOption option : options) {
            String[] names = spellings(option, spec);
            spec.addOption(OptionSpec.builder(names)
                    .arity(ONE)
                    .type(String.class)
                    .userObject(option)
                    .preprocessor(values)
                    .build());
        }
        if (operand != Operand.NONE) {
            spec.addPositional(PositionalParamSpec.builder()
                    .paramLabel(operand.label())
                    .index(new Range(0, operand.most() - 1, operand.most() == Integer.MAX_VALUE, false, ""))
                    .arity(new Range(0, operand.most(), operand.most() == Integer.MAX_VALUE, false, ""))
                    .type(List.class)
                    .auxiliaryTypes(String.class)
                    .build());
        }
        return spec;
    }

    /**
     * The names that are free in {@code spec}, with dashes and with underscores inside, because torchrun accepts both.
     */
    private static String[] spellings(CommandLineOption option, CommandSpec spec) {
        Set<String> names = new LinkedHashSet<>();
        for (String name : option.names()) {
            names.add(name);
            names.add(name.startsWith("--") ? "--" + name.substring(2).replace('-', '_') : name);
        }
        names.removeIf(spec.optionsMap()::containsKey);
        return names.toArray(String[]::new);
    }

    /** The name in the form of the tables. */
    static String dashed(String word) {
        int equals = word.indexOf('=');
        String name = equals < 0 ? word : word.substring(0, equals);
        return name.startsWith("--")
                ? "--" + name.substring(2).replace('_', '-') + word.substring(name.length())
                : word;
    }
}
