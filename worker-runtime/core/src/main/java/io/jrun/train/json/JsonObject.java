package io.jrun.train.json;

import io.jrun.comm.file.UserFile;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A JSON object with a source, for example the file {@code config.json}. Errors name the source and the key. A key
 * whose value is null counts as absent. Immutable.
 */
public final class JsonObject {
    /** The largest JSON file. The index of a model with a million tensors has about 100 MB. */
    public static final int MAX_FILE_BYTES = 256 << 20;

    private final String source;
    private final Map<String, @Nullable Object> members;

    private JsonObject(String source, Map<String, @Nullable Object> members) {
        this.source = source;
        this.members = members;
    }

    /**
     * Reads a file.
     *
     * @throws IOException if the file cannot be read, is not UTF-8, or has more than 256 MiB
     * @throws IllegalArgumentException if the file is no JSON object; the message names the file and the place
     */
    public static JsonObject read(Path file) throws IOException {
        return parse(file.toString(), UserFile.text(file, MAX_FILE_BYTES));
    }

    /**
     * Reads a text.
     *
     * @param source the name of the text in errors
     * @throws IllegalArgumentException like {@link #read}
     */
    public static JsonObject parse(String source, String text) {
        return named(source, source, () -> JsonReader.readObject(text));
    }

    /**
     * Reads one line of a file.
     *
     * @param line its number, from 1
     * @throws IllegalArgumentException like {@link #read}
     */
    public static JsonObject parseLine(String file, long line, String text) {
        return named(file, file + ", line " + line, () -> JsonReader.readLine(line, text));
    }

    private static JsonObject named(String file, String source, Supplier<Map<String, @Nullable Object>> reader) {
        try {
            return new JsonObject(source, reader.get());
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(file + ", " + e.getMessage(), e);
        }
    }

    /** All keys in the order of the text. */
    public Set<String> keys() {
        return members.keySet();
    }

    /** Returns whether the key has a value other than null. */
    public boolean has(String key) {
        return members.get(key) != null;
    }

    /** The whole number of a key that must exist. */
    public long integer(String key) {
        return required(key, Long.class, "a whole number");
    }

    /** The whole number of a key, or {@code fallback}. */
    public long integer(String key, long fallback) {
        return has(key) ? integer(key) : fallback;
    }

    /** The size of something: a whole number from 1 to 2,147,483,647. The key must exist. */
    public long count(String key) {
        return count(key, Integer.MAX_VALUE);
    }

    /** As {@link #count(String)}, with another largest number. */
    public long count(String key, long max) {
        long count = integer(key);
        if (count < 1 || count > max) {
            throw new IllegalArgumentException(
                    source + ": '" + key + "' is " + count + ", expected a whole number from 1 to " + max);
        }
        return count;
    }

    /** As {@link #count(String)}, or {@code fallback} without the key. */
    public long countOr(String key, long fallback) {
        return has(key) ? count(key) : fallback;
    }

    /** The number of a key that must exist. */
    public double number(String key) {
        return required(key, Number.class, "a number").doubleValue();
    }

    /** The number of a key, or {@code fallback}. */
    public double number(String key, double fallback) {
        return has(key) ? number(key) : fallback;
    }

    /** The truth value of a key, or {@code fallback}. */
    public boolean flag(String key, boolean fallback) {
        return has(key) ? required(key, Boolean.class, "true or false") : fallback;
    }

    /** The text of a key. */
    public Optional<String> text(String key) {
        return has(key) ? Optional.of(required(key, String.class, "a string")) : Optional.empty();
    }

    /** The list of strings of a key; empty if the key is absent. */
    public List<String> texts(String key) {
        List<String> texts = new ArrayList<>();
        for (Object element : has(key) ? required(key, List.class, "a list of strings") : List.of()) {
            texts.add(typed(key, element, String.class, "a list of strings"));
        }
        return texts;
    }

    /** The list of whole numbers of a key; empty if the key is absent. */
    public List<Long> integers(String key) {
        List<Long> integers = new ArrayList<>();
        for (Object element : has(key) ? required(key, List.class, "a list of whole numbers") : List.of()) {
            integers.add(typed(key, element, Long.class, "a list of whole numbers"));
        }
        return integers;
    }

    /** The object of a key that must exist. Errors of the object name this source and the key. */
    public JsonObject object(String key) {
        Map<String, @Nullable Object> inner = new LinkedHashMap<>();
        Map<?, ?> map = required(key, Map.class, "an object");
        map.forEach((name, value) -> inner.put((String) name, value));
        return new JsonObject(source + ": " + key, inner);
    }

    /** The objects in the list of a key; empty if the key is absent. Their errors name this source and the key. */
    public List<JsonObject> objects(String key) {
        List<JsonObject> objects = new ArrayList<>();
        for (Object element : has(key) ? required(key, List.class, "a list of objects") : List.of()) {
            Map<String, @Nullable Object> inner = new LinkedHashMap<>();
            Map<?, ?> map = typed(key, element, Map.class, "a list of objects");
            map.forEach((name, value) -> inner.put((String) name, value));
            objects.add(new JsonObject(source + ": " + key, inner));
        }
        return objects;
    }

    /** The texts of all members with this name, in this object and in the objects below. */
    public List<String> textsOf(String name) {
        List<String> texts = new ArrayList<>();
        for (Map<?, ?> object : objectsFrom(members)) {
            if (object.get(name) instanceof String text) {
                texts.add(text);
            }
        }
        return texts;
    }

    /** A value and all values below that are objects. */
    private static List<Map<?, ?>> objectsFrom(@Nullable Object value) {
        List<Map<?, ?>> objects = new ArrayList<>();
        if (value instanceof Map<?, ?> map) {
            objects.add(map);
            map.values().forEach(inner -> objects.addAll(objectsFrom(inner)));
        } else if (value instanceof List<?> list) {
            list.forEach(inner -> objects.addAll(objectsFrom(inner)));
        }
        return objects;
    }

    /** Whether the key has a text. */
    public boolean isText(String key) {
        return members.get(key) instanceof String;
    }

    /** Whether the key has a list. */
    public boolean isList(String key) {
        return members.get(key) instanceof List;
    }

    /** Whether the key has an object. */
    public boolean isObject(String key) {
        return members.get(key) instanceof Map;
    }

    /** The length of the list of a key that must exist. */
    public int size(String key) {
        return required(key, List.class, "a list").size();
    }

    /** All members, which must be strings. */
    public Map<String, String> strings() {
        Map<String, String> strings = new LinkedHashMap<>();
        members.forEach((key, value) -> strings.put(key, typed(key, value, String.class, "a string")));
        return strings;
    }

    private <T> T required(String key, Class<T> type, String what) {
        Object value = members.get(key);
        if (value == null) {
            throw new IllegalArgumentException(source + " lacks '" + key + "'");
        }
        return typed(key, value, type, what);
    }

    private <T> T typed(String key, @Nullable Object value, Class<T> type, String what) {
        if (!type.isInstance(value)) {
            Object shown = value instanceof String ? "'" + value + "'" : value;
            String size = value instanceof BigInteger ? ", beyond 64 bits" : "";
            throw new IllegalArgumentException(source + ": '" + key + "' is " + shown + size + ", expected " + what);
        }
        return type.cast(value);
    }
}
