package io.jrun.examples.gpt;

import io.jrun.examples.options.InvalidArgumentException;
import io.jrun.train.json.JsonReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A configuration of DeepSpeed as options of this program. Each key becomes options, is ignored with a note, or is
 * refused: {@link DeepSpeedKey}. The word {@code auto} counts as an absent key.
 *
 * @param options as they are on a command line
 * @param notes one for each ignored key
 */
record DeepSpeedConfig(List<String> options, List<String> notes) {
    private static final String OPTION = "--deepspeed";

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
            DeepSpeedConfig config = parse(file.get().toString(), Files.readString(file.get()), ranks);
            List<String> all = new ArrayList<>(config.options());
            all.addAll(rest);
            return new DeepSpeedConfig(all, config.notes());
        } catch (IOException e) {
            throw new InvalidArgumentException("--deepspeed: cannot read " + file.get() + ": " + e);
        }
    }

    /** {@code source} is the name of the text in errors. */
    static DeepSpeedConfig parse(String source, String text, int ranks) {
        Map<String, Object> values = new LinkedHashMap<>();
        try {
            flatten("", JsonReader.readObject(text), values);
        } catch (IllegalArgumentException e) {
            throw new InvalidArgumentException("--deepspeed: " + source + " is no JSON object: " + e.getMessage());
        }
        List<String> notes = new ArrayList<>();
        values.forEach((path, value) -> {
            DeepSpeedKey key = DeepSpeedKey.ALL.get(path);
            if (key == null) {
                throw refused(source, path, "this program does not know the key");
            }
            if (key.treatment() == DeepSpeedKey.Treatment.REFUSED && hasEffect(value)) {
                throw refused(source, path, key.words());
            }
            if (key.treatment() == DeepSpeedKey.Treatment.IGNORED) {
                notes.add("note: " + source + ": " + path + " is ignored: " + key.words());
            }
        });
        return new DeepSpeedConfig(new DeepSpeedOptions(source, values).options(ranks), notes);
    }

    static InvalidArgumentException refused(String source, String path, String why) {
        return new InvalidArgumentException("--deepspeed: " + source + ": " + path + ": " + why);
    }

    private static boolean hasEffect(Object value) {
        return !(value.equals(false) || value.equals("none") || value.equals("None") || isNeutral(value));
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
