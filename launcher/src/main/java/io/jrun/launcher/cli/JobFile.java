package io.jrun.launcher.cli;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A job file: long option names as keys, {@code program}, and {@code args}. Loaded only with {@code --file}, since Jackson
 * costs start-up time.
 *
 * @param program empty if the file names none
 */
record JobFile(Map<LaunchOption, List<String>> options, String program, List<String> args) {
    private static final String PROGRAM = "program";
    private static final String ARGS = "args";

    /** Reads the file called {@code name}; JSON is YAML too, but a {@code .json} file is held to JSON's rules. */
    static JobFile read(String name, Path path) {
        ObjectMapper mapper = name.endsWith(".json") ? new JsonMapper() : new YAMLMapper();
        mapper.enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);
        try {
            return new JobFileReader(name).read(mapper.readTree(Files.readString(path)));
        } catch (NoSuchFileException e) {
            throw new UsageException(name + ": no such job file.");
        } catch (JsonProcessingException e) {
            String where =
                    e.getLocation() == null ? "" : " in line " + e.getLocation().getLineNr();
            String what = e.getOriginalMessage().lines().findFirst().orElse("").replaceFirst(" \\(for .*", "");
            throw new UsageException(name + ": not readable" + where + ": " + what + ".");
        } catch (IOException e) {
            throw new UsageException(name + ": cannot be read: " + e.getMessage() + ".");
        }
    }

    /** Turns the tree into values, naming the key of whatever does not fit. */
    private static final class JobFileReader {
        private final String file;
        private final Map<LaunchOption, List<String>> options = new EnumMap<>(LaunchOption.class);
        private String program = "";
        private List<String> args = List.of();

        JobFileReader(String file) {
            this.file = file;
        }

        JobFile read(JsonNode root) {
            if (!root.isObject()) {
                throw new UsageException(file + ": a job file is a map of option names, as 'nproc-per-node: 2'.");
            }
            root.properties().forEach(entry -> readKey(entry.getKey(), entry.getValue()));
            if (program.isEmpty() && !args.isEmpty()) {
                throw new UsageException(file + ": key 'args' goes with 'program'; give both, or the arguments after"
                        + " PROGRAM on the command line.");
            }
            return new JobFile(options, program, args);
        }

        private void readKey(String key, JsonNode value) {
            String dashed = key.replace('_', '-');
            if (dashed.equals(PROGRAM)) {
                program = scalar(key, value);
            } else if (dashed.equals(ARGS)) {
                args = list(key, value);
            } else {
                LaunchOption option = option(key, dashed);
                if (options.put(option, values(option, key, value)) != null) {
                    throw new UsageException(file + ": key '" + key + "' is given twice, once under another name.");
                }
            }
        }

        private LaunchOption option(String key, String dashed) {
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
            throw new UsageException(file + ": unknown key '" + key + "'" + Suggestion.didYouMean(dashed, known));
        }

        private List<String> values(LaunchOption option, String key, JsonNode value) {
            if (option == LaunchOption.ENV && value.isObject()) {
                return value.properties().stream()
                        .map(entry -> entry.getKey() + "=" + scalar(key + "." + entry.getKey(), entry.getValue()))
                        .toList();
            }
            if (option.isList() && value.isArray()) {
                return list(key, value);
            }
            if (option.isSwitch()) {
                if (!value.isBoolean()) {
                    throw wrongType(key, "true or false", value);
                }
                return List.of(value.asText());
            }
            if (value.isArray() && takesCommas(option)) {
                return List.of(list(key, value).stream().collect(Collectors.joining(",")));
            }
            return List.of(scalar(key, value));
        }

        private static boolean takesCommas(LaunchOption option) {
            return option == LaunchOption.LOCAL_RANKS_FILTER
                    || option == LaunchOption.RANKS_FILTER
                    || option == LaunchOption.SIGNALS_TO_HANDLE;
        }

        private List<String> list(String key, JsonNode value) {
            if (!value.isArray()) {
                throw wrongType(key, "a list", value);
            }
            List<String> texts = new ArrayList<>();
            for (int i = 0; i < value.size(); i++) {
                texts.add(scalar(key + "[" + i + "]", value.get(i)));
            }
            return texts;
        }

        private String scalar(String key, JsonNode value) {
            if (value.isTextual() || value.isNumber() || value.isBoolean()) {
                return value.asText();
            }
            throw wrongType(key, "a single value", value);
        }

        private UsageException wrongType(String key, String expected, JsonNode value) {
            String found = switch (value.getNodeType()) {
                case OBJECT, POJO -> "a map";
                case ARRAY -> "a list";
                case NULL, MISSING -> "nothing";
                case BOOLEAN, NUMBER, STRING, BINARY -> "'" + value.asText() + "'";
            };
            return new UsageException(file + ": key '" + key + "' must be " + expected + ", not " + found + ".");
        }
    }
}
