package io.jrun.trainer;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.train.json.JsonReader;
import io.jrun.train.json.OneLine;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A configuration of DeepSpeed. Each key fills an argument, is ignored with a note, or is refused: {@link DeepSpeedKey}.
 * The word {@code auto} counts as an absent key. DeepSpeed reads Hjson; the parts of Hjson in
 * {@link JsonReader#readRelaxed} are read here.
 *
 * @param arguments those of the command line, and for options that are not given those of the file
 * @param notes one for each ignored key
 */
record DeepSpeedConfig(TrainingArguments arguments, List<String> notes) {
    /** The option with the path of the file. */
    static final String OPTION = "--deepspeed";

    /** A configuration has some kilobytes. */
    private static final int MAX_FILE_BYTES = 16 << 20;

    private static final String ZERO = "zero_optimization";

    DeepSpeedConfig {
        notes = List.copyOf(notes);
    }

    /**
     * Fills the arguments from a file.
     *
     * @param arguments those of the command line, with defaults for options that are not given
     * @param ranks of the job
     * @throws InvalidArgumentException naming the key
     */
    static DeepSpeedConfig read(Path file, TrainingArguments arguments, CommandLineArguments given, int ranks) {
        try {
            return of(file.toString(), UserFile.text(file, MAX_FILE_BYTES), arguments, given, ranks);
        } catch (IOException e) {
            throw new InvalidArgumentException("--deepspeed: cannot read " + file + ": " + FileError.reason(e, file));
        }
    }

    /**
     * As {@link #read}, from a text.
     *
     * @param source the name of the text in errors
     */
    static DeepSpeedConfig of(
            String source, String text, TrainingArguments arguments, CommandLineArguments given, int ranks) {
        Map<String, @Nullable Object> root;
        try {
            root = JsonReader.readRelaxed(text);
        } catch (IllegalArgumentException e) {
            throw new InvalidArgumentException("--deepspeed: " + source + ", " + e.getMessage());
        }
        Map<String, Object> values = new LinkedHashMap<>();
        flatten(source, "", root, values);
        List<String> notes = new ArrayList<>();
        values.forEach((path, value) -> {
            DeepSpeedKey key =
                    DeepSpeedKey.of(path).orElseThrow(() -> refused(source, path, DeepSpeedKey.unknown(path)));
            boolean isDefault = key.isDefault(value) || isDisabled(path, values);
            if (key.treatment() == DeepSpeedKey.Treatment.REFUSED && !isDefault) {
                throw refused(source, path, key.words());
            }
            if (key.treatment() == DeepSpeedKey.Treatment.IGNORED) {
                notes.add(ignored(source, path, key.words()));
            }
        });
        DeepSpeedOptions options = new DeepSpeedOptions(source, values, arguments, given, ranks);
        TrainingArguments filled = options.fill();
        notes.addAll(options.notes());
        return new DeepSpeedConfig(filled, notes);
    }

    static InvalidArgumentException refused(String source, String path, String why) {
        return new InvalidArgumentException("--deepspeed: " + source + ": " + path + ": " + why);
    }

    static String ignored(String source, String path, String why) {
        return "note: " + source + ": " + path + " is ignored: " + why;
    }

    /** Whether DeepSpeed takes no notice of a key: an object around it is not enabled, or no object of its section is. */
    private static boolean isDisabled(String path, Map<String, Object> values) {
        for (int end = path.lastIndexOf('.'); end > 0; end = path.lastIndexOf('.', end - 1)) {
            if (Boolean.FALSE.equals(values.get(path.substring(0, end) + ".enabled"))) {
                return true;
            }
        }
        String section = DeepSpeedKey.group(path) + ".";
        if (!DeepSpeedKey.mayBeObject(section + "enabled")) {
            return false; // the objects of the section have nothing in common
        }
        List<Object> enabled = values.entrySet().stream()
                .filter(entry ->
                        entry.getKey().startsWith(section) && entry.getKey().endsWith(".enabled"))
                .map(Map.Entry::getValue)
                .toList();
        return !enabled.isEmpty() && enabled.stream().allMatch(Boolean.FALSE::equals);
    }

    /** The values by their paths. A known section must be an object, and a known value must not be one. */
    private static void flatten(String source, String prefix, Map<?, ?> object, Map<String, Object> into) {
        object.forEach((key, value) -> {
            String path = prefix + key;
            boolean isSection = DeepSpeedKey.isSection(path);
            if (value instanceof Map<?, ?> inner) {
                if (!isSection && !DeepSpeedKey.mayBeObject(path)) {
                    String why = DeepSpeedKey.of(path).isPresent()
                            ? "expected a value, not an object"
                            : DeepSpeedKey.unknown(path);
                    throw refused(source, path, why);
                }
                flatten(source, path + ".", inner, into);
            } else if (path.equals(ZERO) && value instanceof Boolean isPartitioned) {
                into.put(ZERO + ".stage", isPartitioned ? 1L : 0L); // DeepSpeed's old form
            } else if (isSection && value != null) {
                throw refused(
                        source,
                        path,
                        "expected an object such as " + DeepSpeedKey.example(path) + ", not "
                                + OneLine.of(String.valueOf(value)));
            } else if (value != null && !value.equals("auto")) {
                into.put(path, value);
            }
        });
    }
}
