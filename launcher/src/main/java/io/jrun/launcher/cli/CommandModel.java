package io.jrun.launcher.cli;

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
 * the command that the line calls is in the model, since each start of jrun makes the model anew. Stateless.
 */
final class CommandModel {
    /** The value of a switch that is given without a value. */
    static final String ON = "true";

    private static final Range ONE = Range.valueOf("1");

    private CommandModel() {}

    /**
     * The model for a line of the command {@code called}; without {@code called}, for the line of a job.
     *
     * @param values receives the value of each option of the line
     */
    static CommandSpec of(Optional<SubCommand> called, IParameterPreprocessor values) {
        CommandSpec jrun = called.isPresent()
                ? CommandSpec.create().addSubcommand(called.get().word(), of(called.get(), values))
                : command(ofJobs(), Operand.PROGRAM, values);
        return jrun.name("jrun");
    }

    private static CommandSpec of(SubCommand command, IParameterPreprocessor values) {
        return command(command.options(), command.operand(), values);
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
