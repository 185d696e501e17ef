package io.jrun.launcher.cli;

import java.util.Arrays;
import java.util.List;
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

/** One page of help: usage lines, what the command does, its words, options and sub-commands. Confined to one thread. */
final class HelpPage {
    /** Fits a terminal of 100 columns, of which picocli keeps the last free. */
    private static final int WIDTH = 99;

    /** The sub-commands come before the options: those are many. */
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

    /** What the command does: lines, each wrapped where it is too long. */
    HelpPage about(String... lines) {
        spec.usageMessage().description(guarded(lines));
        return this;
    }

    /** A word that the command takes. */
    HelpPage word(String name, String text) {
        spec.addPositional(PositionalParamSpec.builder()
                .paramLabel(name)
                .description(guarded(text))
                .build());
        return this;
    }

    /** A heading for options to come. */
    HelpPage group(String heading, List<OptionSpec> grouped) {
        ArgGroupSpec.Builder group = ArgGroupSpec.builder()
                .heading("%n" + heading + ":%n")
                .validate(false)
                .order(groups);
        grouped.forEach(group::addArg);
        spec.addArgGroup(group.build());
        groups++;
        return this;
    }

    /** An option of the page's only group. */
    HelpPage option(OptionSpec option) {
        spec.usageMessage().optionListHeading("%nOptions:%n");
        spec.addOption(option.toBuilder().order(options).build());
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

    /** What follows the options: lines, each wrapped where it is too long. */
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

    /** An option with a value. */
    static OptionSpec value(List<String> names, String parameter, String text) {
        return OptionSpec.builder(names.toArray(String[]::new))
                .arity("1")
                .paramLabel(parameter)
                .type(String.class)
                .description(guarded(text))
                .build();
    }

    /** An option without a value. */
    static OptionSpec flag(List<String> names, String text) {
        return OptionSpec.builder(names.toArray(String[]::new))
                .arity("0")
                .type(boolean.class)
                .description(guarded(text))
                .build();
    }

    /** The option that every command has. */
    static OptionSpec help() {
        return flag(List.of("-h", "--help"), "Show this help.");
    }

    /** A launch option with {@code text}. */
    static OptionSpec of(LaunchOption option, String text) {
        return option.isSwitch() ? flag(option.names(), text) : value(option.names(), option.parameter(), text);
    }

    /** picocli breaks lines inside "h[3-4]" and "~/.config": no character of private use is a place to break a line. */
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
