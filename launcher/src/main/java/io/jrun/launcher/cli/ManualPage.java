package io.jrun.launcher.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Writes manual pages in the language of man(7), from the tables of options and the texts of {@link HelpText}. Confined
 * to one thread.
 */
final class ManualPage {
    private final List<String> lines = new ArrayList<>();

    private ManualPage(String name, String version, String summary) {
        lines.add(".TH " + quoted(name.toUpperCase(Locale.ROOT)) + " 1 \"\" " + quoted("jrun " + version)
                + " \"Manual of jrun\"");
        section("NAME");
        lines.add(escaped(name) + " \\- " + escaped(summary));
        section("SYNOPSIS");
    }

    /** The page of {@code jrun}. */
    static String ofJRun(String version) {
        ManualPage page = new ManualPage("jrun", version, "start a program once for each rank, and watch all ranks");
        page.usage(HelpText.USAGE);
        page.section("DESCRIPTION");
        page.paragraphs(HelpText.ABOUT);
        page.section("COMMANDS");
        for (SubCommand command : SubCommand.values()) {
            page.item("jrun " + command.word(), command.description());
        }
        page.section("OPTIONS");
        for (OptionGroup group : OptionGroup.values()) {
            page.lines.add(".SS " + quoted(group.heading()));
            page.options(HelpText.optionsOf(group));
        }
        page.literal("ENVIRONMENT", HelpText.VARIABLES);
        page.literal("ENVIRONMENT OF THE WORKERS' RUNTIME", HelpText.RUNTIME_VARIABLES);
        page.literal("EXIT STATUS", HelpText.EXIT_CODES);
        page.literal("EXAMPLES", HelpText.EXAMPLES);
        page.section("SEE ALSO");
        page.lines.add(Arrays.stream(SubCommand.values())
                .map(command -> ".BR jrun\\-" + escaped(command.word()) + " (1)")
                .collect(Collectors.joining("\n")));
        return page.text();
    }

    /** The page of a command. */
    static String of(SubCommand command, String version) {
        ManualPage page = new ManualPage("jrun-" + command.word(), version, command.description());
        page.usage(command.usage());
        page.section("DESCRIPTION");
        page.paragraphs(HelpText.about(command));
        if (!command.operand().description().isEmpty()) {
            page.item(command.operand().label(), command.operand().description());
        }
        if (command == SubCommand.BENCH) {
            page.paragraphs("", "'jrun help bench' describes the benchmarks and their options.");
        }
        page.section("OPTIONS");
        for (CommandLineOption option : command.ownOptions()) {
            page.options(Map.of(option, option.description()));
        }
        page.options(Map.of(CommandOption.HELP, CommandOption.HELP.description()));
        page.section("SEE ALSO");
        page.lines.add(".BR jrun (1)");
        return page.text();
    }

    private void section(String heading) {
        lines.add(".SH " + quoted(heading));
    }

    private void usage(String... usages) {
        for (String usage : usages) {
            lines.add(".B " + quoted(usage));
            lines.add(".br");
        }
    }

    private void paragraphs(String... paragraphs) {
        for (String paragraph : paragraphs) {
            lines.add(paragraph.isEmpty() ? ".PP" : escaped(paragraph));
        }
    }

    private void options(Map<? extends CommandLineOption, String> options) {
        options.forEach((option, text) -> item(
                option.names().stream()
                        .map(name ->
                                option.isSwitch() || !name.startsWith("--") ? name : name + "=" + option.parameter())
                        .collect(Collectors.joining(", ")),
                text));
    }

    private void item(String term, String text) {
        lines.add(".TP");
        lines.add(".B " + quoted(term));
        lines.add(escaped(text));
    }

    /** Lines that keep their breaks and blanks. */
    private void literal(String heading, List<String> text) {
        section(heading);
        lines.add(".nf");
        text.forEach(line -> lines.add(escaped(line)));
        lines.add(".fi");
    }

    private String text() {
        return lines.stream().map(line -> line + "\n").collect(Collectors.joining());
    }

    private static String quoted(String text) {
        return "\"" + escaped(text).replace("\"", "\\(dq") + "\"";
    }

    /** Guards the characters that have a meaning in man(7): backslashes, dashes, and the first of a line. */
    private static String escaped(String text) {
        String plain = text.replace("\\", "\\e")
                .replace("-", "\\-")
                .replace("~", "\\(ti")
                .replace("^", "\\(ha");
        return plain.startsWith(".") || plain.startsWith("'") ? "\\&" + plain : plain;
    }
}
