package io.jrun.examples.gpt;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.examples.options.CommandLineArguments;
import io.jrun.examples.options.InvalidArgumentException;
import io.jrun.train.json.JsonReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A configuration of DeepSpeed as options of this program. Each key becomes options, is ignored with a note, or is
 * refused: {@link DeepSpeedKey}. The word {@code auto} counts as an absent key.
 *
 * @param options as they are on a command line
 * @param notes one for each ignored key
 */
record DeepSpeedConfig(List<String> options, List<String> notes) {
    /** A configuration has some kilobytes. */
    private static final int MAX_FILE_BYTES = 16 << 20;

    private static final String OPTION = "--deepspeed";
    private static final Set<Object> NEUTRAL = Set.of(false, "none", "None", "fp32");

    DeepSpeedConfig {
        options = List.copyOf(options);
        notes = List.copyOf(notes);
    }

    /**
     * The options of the file that {@code --deepspeed} names, then the other arguments. An argument overrides an option
     * of the file.
     *
     * @param ranks of the job
     * @throws InvalidArgumentException naming the key
     */
    static DeepSpeedConfig expand(String[] args, int ranks) {
        List<String> rest = new ArrayList<>();
        Optional<Path> file = Optional.empty();
        for (int i = 0; i < args.length; i++) {
            String value = "";
            if (args[i].startsWith(OPTION + "=")) {
                value = args[i].substring(OPTION.length() + 1);
            } else if (!args[i].equals(OPTION)) {
                rest.add(args[i]);
                continue;
            } else if (i + 1 < args.length) {
                i++;
                value = args[i];
            }
            if (value.isEmpty()) {
                throw new InvalidArgumentException(OPTION + " needs a value");
            }
            file = Optional.of(Path.of(value));
        }
        if (file.isEmpty()) {
            return new DeepSpeedConfig(rest, List.of());
        }
        try {
            DeepSpeedConfig config =
                    parse(file.get().toString(), UserFile.text(file.get(), MAX_FILE_BYTES), rest, ranks);
            List<String> all = new ArrayList<>(config.options());
            all.addAll(rest);
            return new DeepSpeedConfig(all, config.notes());
        } catch (IOException e) {
            throw new InvalidArgumentException(
                    "--deepspeed: cannot read " + file.get() + ": " + FileError.reason(e, file.get()));
        }
    }

    /**
     * The options of a configuration.
     *
     * @param source the name of the text in errors
     * @param commandLine the other arguments of the program
     * @param ranks of the job
     */
    static DeepSpeedConfig parse(String source, String text, List<String> commandLine, int ranks) {
        Map<String, Object> values = new LinkedHashMap<>();
        try {
            flatten("", JsonReader.readObject(text), values);
        } catch (IllegalArgumentException e) {
            throw new InvalidArgumentException("--deepspeed: " + source + " is no JSON object: " + e.getMessage());
        }
        List<String> notes = new ArrayList<>();
        values.forEach((path, value) -> {
            DeepSpeedKey key = DeepSpeedKey.of(path).orElseThrow(() -> refused(source, path, unknown(path)));
            if (key.treatment() == DeepSpeedKey.Treatment.REFUSED && hasEffect(path, value, values)) {
                throw refused(source, path, key.words());
            }
            if (key.treatment() == DeepSpeedKey.Treatment.IGNORED) {
                notes.add(ignored(source, path, key.words()));
            }
        });
        DeepSpeedOptions options = new DeepSpeedOptions(source, values, MeshSizes.of(commandLine, ranks));
        List<String> all = options.all();
        notes.addAll(options.notes());
        return new DeepSpeedConfig(all, notes);
    }

    static InvalidArgumentException refused(String source, String path, String why) {
        return new InvalidArgumentException("--deepspeed: " + source + ": " + path + ": " + why);
    }

    static String ignored(String source, String path, String why) {
        return "note: " + source + ": " + path + " is ignored: " + why;
    }

    private static String unknown(String path) {
        return "this program does not know the key"
                + CommandLineArguments.nearest(path, DeepSpeedKey.paths())
                        .map(near -> ". Did you mean " + near + "?")
                        .orElse("");
    }

    /** An object that is not enabled has no effect. Neither has a key with DeepSpeed's default. */
    private static boolean hasEffect(String path, Object value, Map<String, Object> values) {
        Object enabled = values.get(DeepSpeedKey.group(path) + ".enabled");
        return !Boolean.FALSE.equals(enabled) && !NEUTRAL.contains(value) && !isNeutral(value);
    }

    /** 0 and 1 are DeepSpeed's defaults of the numbers that are refused. */
    private static boolean isNeutral(Object value) {
        return value instanceof Number number && (number.doubleValue() == 0 || number.doubleValue() == 1);
    }

    private static void flatten(String prefix, Map<?, ?> object, Map<String, Object> into) {
        object.forEach((key, value) -> {
            String path = prefix + key;
            if (value instanceof Map<?, ?> inner) {
                flatten(path + ".", inner, into);
            } else if (isGiven(value)) {
                into.put(path, value);
            }
        });
    }

    private static boolean isGiven(@Nullable Object value) {
        return value != null && !value.equals("auto");
    }
}
