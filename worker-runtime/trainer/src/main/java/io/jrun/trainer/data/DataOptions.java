package io.jrun.trainer.data;

import io.jrun.trainer.arguments.CommandLineArguments;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The options of the training data.
 *
 * @param data text or token files
 * @param tokenizer a path, or {@value #BYTES}
 * @param textField the field of JSON Lines with the text
 * @param maxBytes bytes of text to read
 */
public record DataOptions(Optional<Path> data, Optional<String> tokenizer, String textField, long maxBytes) {
    /** The tokenizer that takes each byte as one token. */
    public static final String BYTES = "bytes";

    /** The names of the options. */
    public static final List<String> VALUED = List.of("--data", "--tokenizer", "--text-field", "--max-bytes");

    /** Reads the options. */
    public static DataOptions of(CommandLineArguments given, long defaultMaxBytes) {
        return new DataOptions(
                given.text("--data").map(Path::of),
                given.text("--tokenizer"),
                given.text("--text-field").orElse("text"),
                given.longNumber("--max-bytes", defaultMaxBytes, 1));
    }

    /** The same with another tokenizer, unless one was given. */
    public DataOptions withDefaultTokenizer(String path) {
        return tokenizer.isPresent() ? this : new DataOptions(data, Optional.of(path), textField, maxBytes);
    }

    boolean isOfBytes() {
        return tokenizer.isEmpty() || tokenizer.get().equals(BYTES);
    }
}
