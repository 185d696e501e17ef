package io.jrun.tokenizers;

import io.jrun.train.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
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
 */
record TokenizerDefinition(Path file, String json, int vocabulary, OptionalInt endOfText) {
    /** The usual names, for a tokenizer without {@code tokenizer_config.json}. */
    private static final List<String> END_OF_TEXT = List.of("<|endoftext|>", "<|end_of_text|>", "</s>");

    /**
     * Reads and checks the files.
     *
     * @throws IOException if a file cannot be read
     * @throws IllegalArgumentException in one line, if a file is malformed
     */
    static TokenizerDefinition read(Path file) throws IOException {
        JsonObject root = JsonObject.read(file);
        String json = Files.readString(file);
        JsonObject model = root.object("model");
        List<JsonObject> added = root.objects("added_tokens");
        long size = model.isList("vocab") ? model.size("vocab") : endOfIds(model.object("vocab"), json.length());
        for (JsonObject token : added) {
            size = Math.max(size, checked(token.integer("id"), file, json.length()) + 1);
        }
        if (size == 0) {
            throw new IllegalArgumentException(file + " has no tokens");
        }
        return new TokenizerDefinition(file, json, Math.toIntExact(size), endOfText(file, model, added));
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

    private static OptionalInt endOfText(Path file, JsonObject model, List<JsonObject> added) throws IOException {
        Optional<String> configured = configured(file.resolveSibling("tokenizer_config.json"));
        List<String> names = configured.map(List::of).orElse(END_OF_TEXT);
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
        if (configured.isPresent()) {
            throw new IllegalArgumentException(file + " lacks the token '" + names.getFirst()
                    + "', which tokenizer_config.json names as eos_token");
        }
        return OptionalInt.empty();
    }

    private static Optional<String> configured(Path config) throws IOException {
        if (!Files.exists(config)) {
            return Optional.empty();
        }
        JsonObject object = JsonObject.read(config);
        return object.isObject("eos_token") ? object.object("eos_token").text("content") : object.text("eos_token");
    }
}
