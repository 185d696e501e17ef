package io.jrun.launcher.cli;

import io.jrun.comm.file.UserFile;
import io.jrun.launcher.cli.JobFileValue.Kind;
import io.jrun.launcher.cli.JobFileValue.Mapping;
import io.jrun.launcher.cli.JobFileValue.Scalar;
import io.jrun.launcher.cli.JobFileValue.Sequence;
import io.jrun.launcher.cli.ResolvedOptions.Setting;
import io.jrun.launcher.job.UsageException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A job file: long option names as keys, {@code program}, and {@code args}. Only {@code --file} loads this class,
 * because Jackson costs start-up time.
 *
 * @param program empty if the file names no program
 */
record JobFile(Map<LaunchOption, Setting> options, String program, List<String> args) {
    /** The name of stdin, as in most programs. */
    static final String STDIN = "-";

    private static final String PROGRAM = "program";
    private static final String ARGS = "args";

    /**
     * Reads the file called {@code name}, a {@code .json} file by the rules of JSON, any other file by the rules of
     * YAML.
     */
    static JobFile read(String name, CommandContext commandContext) {
        String called = name.equals(STDIN) ? "stdin" : name;
        Path path = name.equals(STDIN) ? Path.of("/dev/stdin") : commandContext.resolve(name);
        if (name.endsWith(".jar")) {
            throw new UsageException("--file: '" + name + "' is a jar, not a job file; a program follows the options:"
                    + " jrun --file=JOB.yaml " + name + ".");
        }
        return new JobFileReader(called)
                .read(JobFileParser.parse(called, UserFile.withoutByteOrderMark(TextFile.read(called, path))));
    }

    /** Converts the tree to values. Errors name the line and the key. */
    private static final class JobFileReader {
        private final String file;
        private final Map<LaunchOption, Setting> options = new EnumMap<>(LaunchOption.class);
        private String program = "";
        private List<String> args = List.of();

        JobFileReader(String file) {
            this.file = file;
        }

        JobFile read(JobFileValue root) {
            if (!(root instanceof Mapping map)) {
                throw new UsageException(file + ": a job file is a map of option names, as 'nproc-per-node: 2'.");
            }
            map.entries().forEach(this::readKey);
            if (program.isEmpty() && !args.isEmpty()) {
                throw new UsageException(file + ": key 'args' goes with 'program'; give both, or the arguments after"
                        + " PROGRAM on the command line.");
            }
            return new JobFile(options, program, args);
        }

        private void readKey(String key, JobFileValue value) {
            String dashed = key.replace('_', '-');
            if (dashed.equals(PROGRAM)) {
                program = scalar(key, value);
                if (program.isBlank()) {
                    throw refused(value, "key '" + key + "' is empty; name a jar or an executable");
                }
            } else if (dashed.equals(ARGS)) {
                args = list(key, value);
            } else {
                LaunchOption option = option(key, dashed, value);
                Setting setting =
                        new Setting(values(option, key, value), option.longName(), file + ", line " + value.line());
                if (options.put(option, setting) != null) {
                    throw refused(value, "key '" + key + "' is given twice, once under another name");
                }
            }
        }

        private LaunchOption option(String key, String dashed, JobFileValue value) {
            for (LaunchOption option : LaunchOption.values()) {
                if (option.isAllowedInFile() && option.names().contains("--" + dashed)) {
                    return option;
                }
            }
            List<String> known = Stream.concat(
                            Stream.of(PROGRAM, ARGS),
                            Arrays.stream(LaunchOption.values())
                                    .filter(LaunchOption::isAllowedInFile)
                                    .map(LaunchOption::key))
                    .toList();
            throw new UsageException(file + ", line " + value.line() + ": unknown key '" + key + "'"
                    + Suggestion.didYouMean(dashed, known));
        }

        private List<String> values(LaunchOption option, String key, JobFileValue value) {
            if (option == LaunchOption.ENV && value instanceof Mapping variables) {
                return variables.entries().entrySet().stream()
                        .map(entry -> variable(key, entry.getKey(), entry.getValue()))
                        .toList();
            }
            if (option.isList() && value instanceof Sequence) {
                return list(key, value);
            }
            if (option.isSwitch()) {
                if (value instanceof Scalar word && word.kind() == Kind.BOOLEAN) {
                    return List.of(word.text());
                }
                throw wrongType(key, "true or false", value);
            }
            if (value instanceof Sequence && takesCommas(option)) {
                return List.of(list(key, value).stream().collect(Collectors.joining(",")));
            }
            return List.of(scalar(key, value));
        }

        /** Refuses an = in the name, because it would split the pair at another place. */
        private String variable(String key, String name, JobFileValue value) {
            if (name.isEmpty() || name.contains("=")) {
                throw refused(value, "key '" + key + "': '" + name + "' is no name of a variable");
            }
            return name + "=" + scalar(key + "." + name, value);
        }

        private static boolean takesCommas(LaunchOption option) {
            return option == LaunchOption.LOCAL_RANKS_FILTER
                    || option == LaunchOption.RANKS_FILTER
                    || option == LaunchOption.SIGNALS_TO_HANDLE;
        }

        private List<String> list(String key, JobFileValue value) {
            if (!(value instanceof Sequence list)) {
                throw wrongType(key, "a list", value);
            }
            List<String> texts = new ArrayList<>();
            for (JobFileValue item : list.items()) {
                texts.add(scalar(key + "[" + texts.size() + "]", item));
            }
            return texts;
        }

        private String scalar(String key, JobFileValue value) {
            if (!(value instanceof Scalar word) || word.kind() == Kind.NOTHING) {
                throw wrongType(key, "a single value", value);
            }
            if (word.text().indexOf('\0') >= 0) {
                throw refused(
                        value,
                        "key '" + key + "' has a NUL character (\\0), which no argument, variable or path can"
                                + " hold. Remove it");
            }
            if (word.text().codePoints().anyMatch(c -> Character.getType(c) == Character.SURROGATE)) {
                throw refused(
                        value,
                        "key '" + key + "' has half of a surrogate pair (\\ud800 to \\udfff), which is no"
                                + " character. Write both halves");
            }
            return word.text();
        }

        private UsageException wrongType(String key, String expected, JobFileValue value) {
            String found = switch (value) {
                case Mapping _ -> "a map";
                case Sequence _ -> "a list";
                case Scalar word -> word.kind() == Kind.NOTHING ? "nothing" : "'" + word.text() + "'";
            };
            return refused(value, "key '" + key + "' must be " + expected + ", not " + found);
        }

        private UsageException refused(JobFileValue where, String why) {
            return new UsageException(file + ", line " + where.line() + ": " + why + ".");
        }
    }
}
