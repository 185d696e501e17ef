package io.jrun.tokenizers;

import io.jrun.comm.file.UserFile;
import io.jrun.train.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The content of {@code tokenizer.json} and of the files beside it.
 *
 * @param json the text of the file
 * @param vocabulary the largest token plus 1
 * @param endOfText the token that ends a document
 * @param maskToken the token that stands for a hidden token
 * @param expressions the regular expressions
 */
record TokenizerDefinition(
        Path file,
        String json,
        int vocabulary,
        OptionalInt endOfText,
        OptionalInt maskToken,
        List<String> expressions) {
    /** The usual names, for a tokenizer without {@code tokenizer_config.json}. */
    private static final List<String> END_OF_TEXT = List.of("<|endoftext|>", "<|end_of_text|>", "</s>");

    private static final List<String> MASK = List.of("[MASK]", "<mask>");

    /**
     * Reads and checks the files.
     *
     * @throws IOException if a file cannot be read
     * @throws IllegalArgumentException in one line, if a file is malformed
     */
    static TokenizerDefinition read(Path file) throws IOException {
        String json = UserFile.text(file, JsonObject.MAX_FILE_BYTES);
        JsonObject root = JsonObject.parse(file.toString(), json);
        JsonObject model = root.object("model");
        List<JsonObject> added = root.objects("added_tokens");
        long size = model.isList("vocab") ? model.size("vocab") : endOfIds(model.object("vocab"), json.length());
        for (JsonObject token : added) {
            size = Math.max(size, checked(token.integer("id"), file, json.length()) + 1);
        }
        if (size == 0) {
            throw new IllegalArgumentException(file + " has no tokens");
        }
        JsonObject config = config(file.resolveSibling("tokenizer_config.json"));
        return new TokenizerDefinition(
                file,
                json,
                Math.toIntExact(size),
                endOfText(file, config, model, added),
                number(configured(config, "mask_token").map(List::of).orElse(MASK), model, added),
                root.textsOf("Regex"));
    }

    private static long endOfIds(JsonObject vocabulary, long limit) {
        long end = 0;
        for (String token : vocabulary.keys()) {
            end = Math.max(end, checked(vocabulary.integer(token), token, limit) + 1);
        }
        return end;
    }

    /**
     * Each token needs a part of the file. A larger number would make a program allocate a matrix for tokens that do
     * not exist.
     */
    private static long checked(long id, Object owner, long limit) {
        if (id < 0 || id >= limit) {
            throw new IllegalArgumentException(owner + " has the token number " + id + ", expected 0 to " + (limit - 1)
                    + " in a file of this size");
        }
        return id;
    }

    private static OptionalInt endOfText(Path file, JsonObject config, JsonObject model, List<JsonObject> added) {
        Optional<String> name = configured(config, "eos_token");
        OptionalInt number = number(name.map(List::of).orElse(END_OF_TEXT), model, added);
        if (number.isEmpty() && name.isPresent()) {
            throw new IllegalArgumentException(
                    file + " lacks the token '" + name.get() + "', which tokenizer_config.json names as eos_token");
        }
        return number;
    }

    /** The number of the first of some tokens that the tokenizer has. */
    private static OptionalInt number(List<String> names, JsonObject model, List<JsonObject> added) {
        for (String name : names) {
            for (JsonObject token : added) {
                if (token.text("content").equals(Optional.of(name))) {
                    return OptionalInt.of((int) token.integer("id"));
                }
            }
            if (!model.isList("vocab") && model.object("vocab").has(name)) {
                return OptionalInt.of((int) model.object("vocab").integer(name));
            }
        }
        return OptionalInt.empty();
    }

    /** The content of {@code tokenizer_config.json}; no members without the file. */
    private static JsonObject config(Path config) throws IOException {
        return Files.exists(config, LinkOption.NOFOLLOW_LINKS)
                ? JsonObject.read(config)
                : JsonObject.parse(config.toString(), "{}");
    }

    private static Optional<String> configured(JsonObject config, String key) {
        return config.isObject(key) ? config.object(key).text("content") : config.text(key);
    }
}
