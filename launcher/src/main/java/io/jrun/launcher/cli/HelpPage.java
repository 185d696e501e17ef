package io.jrun.launcher.cli;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.Model.UsageMessageSpec;

/**
 * One page of help: usage lines, description, words, options and sub-commands. Confined to one thread.
 */
final class HelpPage {
    /** The width: a terminal of 100 columns. picocli leaves the last column free. */
    private static final int WIDTH = 99;

    /** The order of the sections. The sub-commands precede the many options. */
    private static final List<String> SECTIONS = List.of(
            UsageMessageSpec.SECTION_KEY_SYNOPSIS_HEADING,
            UsageMessageSpec.SECTION_KEY_SYNOPSIS,
            UsageMessageSpec.SECTION_KEY_DESCRIPTION,
            UsageMessageSpec.SECTION_KEY_COMMAND_LIST_HEADING,
            UsageMessageSpec.SECTION_KEY_COMMAND_LIST,
            UsageMessageSpec.SECTION_KEY_PARAMETER_LIST_HEADING,
            UsageMessageSpec.SECTION_KEY_PARAMETER_LIST,
            UsageMessageSpec.SECTION_KEY_OPTION_LIST_HEADING,
            UsageMessageSpec.SECTION_KEY_OPTION_LIST,
            UsageMessageSpec.SECTION_KEY_FOOTER);

    private static final Pattern PUNCTUATION = Pattern.compile("[\\p{Punct}]");
    private static final int PRIVATE_USE = 0xE000;
    private static final Pattern PRIVATE = Pattern.compile("[\\uE021-\\uE07E]");

    private final CommandSpec spec = CommandSpec.create().name("jrun");
    private int groups;
    private int options;

    /** @param usage the lines after "Usage: " */
    HelpPage(String... usage) {
        String[] aligned =
                String.join("\n" + " ".repeat("Usage: ".length()), usage).split("\n", -1);
        spec.usageMessage()
                .width(WIDTH)
                .sortOptions(false)
                .sectionKeys(SECTIONS)
                .customSynopsis(aligned)
                .synopsisHeading("Usage: ")
                .parameterListHeading("%n")
                .commandListHeading("%nCommands:%n");
    }

    /** The description: lines, wrapped to the width. */
    HelpPage about(String... lines) {
        spec.usageMessage().description(guarded(lines));
        return this;
    }

    /** The words that the command takes besides options. */
    HelpPage operand(Operand operand) {
        if (!operand.description().isEmpty()) {
            spec.addPositional(PositionalParamSpec.builder()
                    .paramLabel(operand.label())
                    .hideParamSyntax(true)
                    .description(guarded(operand.description()))
                    .build());
        }
        return this;
    }

    /** Options below a heading of their own, each with its text. */
    HelpPage group(String heading, Map<? extends CommandLineOption, String> grouped) {
        ArgGroupSpec.Builder group = ArgGroupSpec.builder()
                .heading("%n" + heading + ":%n")
                .validate(false)
                .order(groups);
        grouped.forEach((option, text) -> group.addArg(row(option, text).build()));
        spec.addArgGroup(group.build());
        groups++;
        return this;
    }

    /** An option of the page's only group. */
    HelpPage option(CommandLineOption option, String text) {
        spec.usageMessage().optionListHeading("%nOptions:%n");
        spec.addOption(row(option, text).order(options).build());
        options++;
        return this;
    }

    /** The sub-commands of jrun. */
    HelpPage subCommands() {
        for (SubCommand command : SubCommand.values()) {
            CommandSpec row = CommandSpec.create();
            row.usageMessage().description(guarded(command.description()));
            spec.addSubcommand(command.word(), row);
        }
        return this;
    }

    /** The text after the options: lines, wrapped to the width. */
    HelpPage footer(String... lines) {
        spec.usageMessage().footer(guarded(lines));
        return this;
    }

    /** The page, ending in a newline. */
    String text() {
        return unguarded(new CommandLine(spec).getUsageMessage(Help.Ansi.OFF))
                .lines()
                .map(String::stripTrailing)
                .collect(Collectors.joining("\n", "", "\n"));
    }

    private static OptionSpec.Builder row(CommandLineOption option, String text) {
        return OptionSpec.builder(option.names().toArray(String[]::new))
                .arity(option.isSwitch() ? "0" : "1")
                .paramLabel(option.parameter())
                .type(option.isSwitch() ? boolean.class : String.class)
                .description(guarded(text));
    }

    /**
     * Replaces characters at which picocli would break a line inside "h[3-4]" and "~/.config" by characters of private
     * use.
     */
    private static String[] guarded(String... lines) {
        return Arrays.stream(lines)
                .map(line -> PUNCTUATION.matcher(line).replaceAll(mark -> shifted(mark.group(), PRIVATE_USE)))
                .toArray(String[]::new);
    }

    private static String unguarded(String text) {
        return PRIVATE.matcher(text).replaceAll(mark -> Matcher.quoteReplacement(shifted(mark.group(), -PRIVATE_USE)));
    }

    private static String shifted(String mark, int by) {
        return String.valueOf((char) (mark.charAt(0) + by));
    }
}
