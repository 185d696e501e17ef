package io.jrun.launcher.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/** Writes the script that completes jrun's command lines in fish, from the tables of options. Stateless. */
final class FishCompletion {
    /** Marks the places of the script that {@link #text} fills. */
    private static final String FUNCTIONS = """
            # Completion of jrun for fish. Use: jrun completion fish | source

            # Prints the command of the line; "jrun" before PROGRAM, and "program" behind it.
            function __jrun_place
                set -l line (commandline -opc)
                set -l command jrun
                set -l expects no
                set -l first yes
                for word in $line[2..-1]
                    if test $expects = yes
                        set expects no
                    else if test "$word" = --
                        echo program
                        return
                    else if string match -q -- '-*' $word
                        if contains -- (string replace -a _ - -- $word) @TAKING@
                            set expects yes
                        end
                    else if test $first = yes; and contains -- $word @COMMANDS@
                        set command $word
                    else if contains $command jrun submit exec
                        echo program
                        return
                    end
                    set first no
                end
                echo $command
            end

            function __jrun_is
                contains (__jrun_place) $argv
            end

            function __jrun_is_first
                test (count (commandline -opc)) -eq 1
            end

            function __jrun_jobs
                set -l state $XDG_STATE_HOME
                test -n "$state"; or set state ~/.local/state
                command ls $state/jrun/jobs 2> /dev/null
            end

            complete -c jrun -f
            complete -c jrun -n '__jrun_is jrun program submit' -F
            """;

    private FishCompletion() {}

    /**
     * The script.
     *
     * @param benchWords the operations and options of {@code jrun bench}
     */
    static String text(List<String> benchWords) {
        List<String> lines = new ArrayList<>();
        for (SubCommand command : SubCommand.values()) {
            lines.add("complete -c jrun -n __jrun_is_first -a " + command.word() + " -d "
                    + quoted(command.description()));
        }
        addOptions(lines, "jrun", CommandModel.ofJobs());
        for (SubCommand command : SubCommand.values()) {
            addOptions(lines, command.word(), command.options());
        }
        for (String word : benchWords) {
            lines.add(start(SubCommand.BENCH.word())
                    + (word.startsWith("--") ? " -l " + word.substring(2) : " -a " + word));
        }
        addWords(lines, SubCommand.HELP, String.join(" ", SubCommand.names()));
        Arrays.stream(SubCommand.values())
                .filter(command -> !command.operand().words().isEmpty())
                .forEach(command -> addWords(
                        lines, command, String.join(" ", command.operand().words())));
        addWords(lines, SubCommand.INIT, "(__fish_complete_directories)");
        Arrays.stream(SubCommand.values())
                .filter(command -> command.operand().isJob() || command == SubCommand.FLIGHT_RECORDER)
                .forEach(command -> addWords(lines, command, "(__jrun_jobs)"));
        return FUNCTIONS
                        .replace("@TAKING@", String.join(" ", CompletionScript.takingValues()))
                        .replace("@COMMANDS@", String.join(" ", SubCommand.names()))
                + lines.stream().map(line -> line + "\n").collect(Collectors.joining());
    }

    private static void addWords(List<String> lines, SubCommand command, String words) {
        lines.add(start(command.word()) + " -a " + quoted(words));
    }

    private static void addOptions(List<String> lines, String place, Collection<? extends CommandLineOption> options) {
        for (CommandLineOption option : options) {
            StringBuilder line = new StringBuilder(start(place));
            for (String name : option.names()) {
                boolean isLong = name.startsWith("--");
                boolean isLetter = name.length() == 2;
                line.append(isLong ? " -l " + name.substring(2) : isLetter ? " -s " : " -o ");
                line.append(isLong ? "" : name.substring(1));
            }
            if (!option.isSwitch()) {
                line.append(
                        switch (CompletionScript.kindOfValue(option.parameter())) {
                            case CompletionScript.FILES -> " -r -F";
                            case CompletionScript.FOLDERS -> " -x -a '(__fish_complete_directories)'";
                            case CompletionScript.NOTHING -> " -x";
                            case String words -> " -x -a " + quoted(words);
                        });
            }
            lines.add(line + " -d " + quoted(firstSentence(option.description())));
        }
    }

    private static String start(String place) {
        return "complete -c jrun -n '__jrun_is " + place + "'";
    }

    private static String firstSentence(String text) {
        return text.replaceFirst("(?s)[.;:] .*|[.]$", "");
    }

    private static String quoted(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
