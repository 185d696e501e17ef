package io.jrun.trainer.data;

import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/**
 * The options of the training data.
 *
 * @param data text or token files
 * @param evaluation text or token files to evaluate on; empty for a part of {@code data}
 * @param heldOut the share of {@code data} to evaluate on, from 0 to 0.5; empty for a tenth, at most 131,072 tokens
 * @param tokenizer a path, or {@value #BYTES}
 * @param textField the field of JSON Lines with the text
 * @param maxBytes bytes of text to read
 * @param chat how the data are conversations; empty for text
 */
public record DataOptions(
        Optional<Path> data,
        Optional<Path> evaluation,
        OptionalDouble heldOut,
        Optional<String> tokenizer,
        String textField,
        long maxBytes,
        Optional<ChatOptions> chat) {
    /** The tokenizer that takes each byte as one token. */
    public static final String BYTES = "bytes";

    /** The names of the options. */
    public static final List<String> VALUED = Stream.concat(
                    Stream.of("--data", "--eval-data", "--held-out", "--tokenizer", "--text-field", "--max-bytes"),
                    ChatOptions.VALUED.stream())
            .toList();

    /** The names of the options without a value. */
    public static final List<String> FLAGS = ChatOptions.FLAGS;

    private static final double LARGEST_SHARE = 0.5;

    /** Reads the options. */
    public static DataOptions of(CommandLineArguments given, long defaultMaxBytes) {
        if (given.has("--held-out") && given.has("--eval-data")) {
            throw new InvalidArgumentException(
                    "--held-out takes a part of --data to evaluate on, --eval-data names other data: give one");
        }
        return new DataOptions(
                given.text("--data").map(Path::of),
                given.text("--eval-data").map(Path::of),
                given.has("--held-out") ? OptionalDouble.of(share(given)) : OptionalDouble.empty(),
                given.text("--tokenizer"),
                given.text("--text-field").orElse("text"),
                given.longNumber("--max-bytes", defaultMaxBytes, 1),
                ChatOptions.of(given));
    }

    private static double share(CommandLineArguments given) {
        double share = given.zeroOrMore("--held-out", 0);
        if (share > LARGEST_SHARE) {
            throw new InvalidArgumentException("--held-out is '" + share + "', expected a share from 0 to 0.5");
        }
        return share;
    }

    /** The same with another tokenizer, unless one was given. */
    public DataOptions withDefaultTokenizer(String path) {
        return tokenizer.isPresent()
                ? this
                : new DataOptions(data, evaluation, heldOut, Optional.of(path), textField, maxBytes, chat);
    }

    /** The same with the folder of a model, which has the template of conversations. */
    public DataOptions withModelFolder(Path folder) {
        return new DataOptions(
                data, evaluation, heldOut, tokenizer, textField, maxBytes, chat.map(each -> each.withFolder(folder)));
    }

    /**
     * The path of the data. Without {@code --data} the sources of the running JDK.
     *
     * @throws InvalidArgumentException if the JDK has no sources
     */
    public Path path() {
        return data.orElseGet(DataOptions::jdkSources);
    }

    private static Path jdkSources() {
        Path sources = Path.of(System.getProperty("java.home"), "lib", "src.zip");
        if (!Files.exists(sources)) {
            throw new InvalidArgumentException(
                    "this JDK has no " + sources + " to train on. Name a text with --data=PATH (folder, file or zip).");
        }
        return sources;
    }

    boolean isOfBytes() {
        return tokenizer.isEmpty() || tokenizer.get().equals(BYTES);
    }
}
