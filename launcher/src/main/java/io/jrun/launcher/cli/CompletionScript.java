package io.jrun.launcher.cli;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes the script that completes jrun's command lines in bash and zsh, from the tables of options. {@link
 * FishCompletion} writes the one for fish. Stateless.
 */
final class CompletionScript {
    /** Marks the places of the script that {@link #text} fills. */
    private static final String SCRIPT = """
            # Completion of jrun for bash, and for zsh through bashcompinit. Use: source <(jrun completion)

            if [ -n "${ZSH_VERSION-}" ]; then
                autoload -U +X compinit && compinit
                autoload -U +X bashcompinit && bashcompinit
            fi

            # The options of a command; without one, of jrun itself.
            _jrun_options() {
                case $1 in
            @OPTIONS@
                esac
            }

            # The value of an option: words, or @files, @folders, @nothing.
            _jrun_value() {
                case $1 in
            @VALUES@
                *) echo @nothing ;;
                esac
            }

            # Replies with words that begin with $2; $3 stands before each. Files would be no answer here.
            _jrun_words() {
                compopt +o default 2> /dev/null
                COMPREPLY=($(compgen -P "$3" -W "$1" -- "$2"))
            }

            # Replies with files or folders. An empty reply leaves it to the shell, which also knows ~ and quotes.
            _jrun_files() {
                local IFS=$'\\n'
                compopt -o filenames 2> /dev/null
                COMPREPLY=($(compgen "$1" -P "$3" -- "$2"))
            }

            _jrun_reply() {
                case $1 in
                @files) _jrun_files -f "$2" "$3" ;;
                @folders) _jrun_files -d "$2" "$3" ;;
                @nothing) _jrun_words '' '' '' ;;
                *) _jrun_words "$1" "$2" "$3" ;;
                esac
            }

            # Replies with the first word of a line: a command of jrun or a file.
            # Without such a word, replies with a program on the PATH.
            _jrun_first() {
                local IFS=$'\\n'
                compopt -o filenames 2> /dev/null
                COMPREPLY=($(compgen -W '@COMMAND_LINES@' -- "$1") $(compgen -f -- "$1"))
                if ((${#COMPREPLY[@]} == 0)) && [ -n "$1" ]; then
                    COMPREPLY=($(compgen -c -- "$1"))
                fi
            }

            _jrun() {
                local line joined word name i last command program expects cur prefix
                line=() joined='' command='' program='' expects='' prefix=''
                COMPREPLY=()
                # bash breaks words at = and : too.
                for ((i = 1; i <= COMP_CWORD; i++)); do
                    word=${COMP_WORDS[i]}
                    if ((${#line[@]})) && { [ -n "$joined" ] || [[ $word == [=:]* ]]; }; then
                        line[${#line[@]} - 1]+=$word
                    else
                        line+=("$word")
                    fi
                    joined=''
                    [[ $word == [=:] ]] && joined=yes
                done
                last=$((${#line[@]} - 1))
                for ((i = 0; i < last; i++)); do
                    word=${line[i]}
                    name=${word//_/-}
                    if [ -n "$expects" ]; then
                        expects=''
                    elif [ "$word" = -- ]; then
                        program=yes
                    elif [[ $word == -* ]]; then
                        [[ '@TAKING@' == *" $name "* ]] && expects=$name
                    elif ((i == 0)) && [[ ' @COMMANDS@ ' == *" $word "* ]]; then
                        command=$word
                    elif [ -z "$command" ] || [ "$command" = submit ] || [ "$command" = exec ]; then
                        program=yes
                    fi
                    [ -n "$program" ] && return # what follows PROGRAM is the program's own: files, as for any command
                done
                cur=${line[last]}
                if [ -n "$expects" ]; then
                    _jrun_reply "$(_jrun_value "$expects")" "$cur" ''
                elif [[ $cur == --*=* ]]; then
                    name=${cur%%=*}
                    [[ ${COMP_WORDBREAKS-} == *=* ]] || prefix=$name=
                    _jrun_reply "$(_jrun_value "${name//_/-}")" "${cur#*=}" "$prefix"
                elif [[ $cur == -* ]]; then
                    _jrun_words "$(_jrun_options "$command")" "$cur" ''
                else
                    case $command in
                    '') if ((last == 0)); then _jrun_first "$cur"; else _jrun_files -f "$cur" ''; fi ;;
                    help) _jrun_words '@COMMANDS@' "$cur" '' ;;
                    bench) _jrun_words '@OPERATIONS@' "$cur" '' ;;
            @WORDS@
                    @JOB_COMMANDS@)
                        _jrun_words "$(ls "${XDG_STATE_HOME:-$HOME/.local/state}/jrun/jobs" 2> /dev/null)" "$cur" '' ;;
                    flight-recorder | init) _jrun_files -d "$cur" '' ;;
                    submit) _jrun_files -f "$cur" '' ;;
                    *) _jrun_words '' '' '' ;;
                    esac
                fi
            }

            complete -o default -F _jrun jrun
            """;

    /** The value is a file. */
    static final String FILES = "@files";

    /** The value is a folder. */
    static final String FOLDERS = "@folders";

    /** No words complete the value. */
    static final String NOTHING = "@nothing";

    private CompletionScript() {}

    /**
     * The script.
     *
     * @param benchWords the operations and options of {@code jrun bench}
     */
    static String text(List<String> benchWords) {
        List<String> operations =
                benchWords.stream().filter(word -> !word.startsWith("--")).toList();
        return SCRIPT.replace("@OPTIONS@", options(benchWords))
                .replace("@VALUES@", values())
                .replace("@TAKING@", " " + String.join(" ", takingValues()) + " ")
                .replace("@WORDS@", words())
                .replace("@OPERATIONS@", String.join(" ", operations))
                .replace(
                        "@JOB_COMMANDS@",
                        Arrays.stream(SubCommand.values())
                                .filter(command -> command.operand().isJob())
                                .map(SubCommand::word)
                                .collect(Collectors.joining(" | ")))
                .replace("@COMMAND_LINES@", String.join("\n", SubCommand.names()))
                .replace("@COMMANDS@", String.join(" ", SubCommand.names()));
    }

    private static String options(List<String> benchWords) {
        StringBuilder cases = new StringBuilder();
        for (SubCommand command : SubCommand.values()) {
            cases.append("    %s) echo '%s' ;;%n"
                    .formatted(command.word(), String.join(" ", optionsOf(command, benchWords))));
        }
        return cases.append("    *) echo '%s' ;;"
                        .formatted(longNames(CommandModel.ofJobs()).collect(Collectors.joining(" "))))
                .toString();
    }

    /** The cases of the commands whose first word is one of some words. */
    private static String words() {
        return Arrays.stream(SubCommand.values())
                .filter(command -> !command.operand().words().isEmpty())
                .map(command -> "        %s) _jrun_words '%s' \"$cur\" '' ;;"
                        .formatted(
                                command.word(),
                                String.join(" ", command.operand().words())))
                .collect(Collectors.joining("\n"));
    }

    /** The long options of {@code command}. */
    private static List<String> optionsOf(SubCommand command, List<String> benchWords) {
        Stream<String> ofBenchmarks =
                command == SubCommand.BENCH ? benchWords.stream().filter(word -> word.startsWith("--")) : Stream.of();
        return Stream.concat(longNames(command.options()), ofBenchmarks)
                .distinct()
                .toList();
    }

    private static Stream<String> longNames(Collection<CommandLineOption> options) {
        return options.stream().flatMap(option -> option.names().stream()).filter(name -> name.startsWith("--"));
    }

    /** Options with a value. */
    static List<String> takingValues() {
        return allOptions()
                .filter(option -> !option.isSwitch())
                .flatMap(option -> option.names().stream())
                .distinct()
                .toList();
    }

    /** All options of all commands. If two options have one name, the first counts. */
    static Stream<CommandLineOption> allOptions() {
        return Stream.concat(
                        Stream.of(LaunchOption.values()),
                        Arrays.stream(SubCommand.values()).flatMap(command -> command.options().stream()))
                .<CommandLineOption>map(option -> option)
                .distinct();
    }

    private static String values() {
        return allOptions()
                .filter(option -> !option.isSwitch() && !(option instanceof SbatchOption))
                .map(option -> "    %s) echo '%s' ;;"
                        .formatted(String.join(" | ", option.names()), kindOfValue(option.parameter())))
                .collect(Collectors.joining("\n"));
    }

    /** The words that complete a value, or {@link #FILES}, {@link #FOLDERS} or {@link #NOTHING}. */
    static String kindOfValue(String parameter) {
        return switch (parameter) {
            case "PATH", "PATHS", "FILE" -> FILES;
            case "DIR" -> FOLDERS;
            default -> {
                String words = Stream.of(parameter.split("\\|", -1))
                        .filter(word -> word.matches("[a-z0-9]+"))
                        .collect(Collectors.joining(" "));
                yield words.isEmpty() ? NOTHING : words;
            }
        };
    }
}
