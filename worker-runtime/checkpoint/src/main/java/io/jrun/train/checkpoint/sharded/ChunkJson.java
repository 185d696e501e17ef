package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.ElementType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The JSON forms of chunks and parts. The readers check each type and throw {@link IllegalArgumentException}. */
final class ChunkJson {
    private ChunkJson() {}

    static Map<String, Object> part(SavedPart part) {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("file", part.file());
        object.put("bytes", part.bytes());
        object.put("crc32c", part.checksums());
        return object;
    }

    static SavedPart part(@Nullable Object json) {
        Map<?, ?> object = object(json);
        return new SavedPart(text(object.get("file")), whole(object.get("bytes")), wholes(object.get("crc32c")));
    }

    static Map<String, Object> tensor(Chunk chunk) {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("dtype", chunk.type().name());
        object.put("shape", chunk.globalShape());
        return object;
    }

    /** A chunk with its tensor. */
    static Map<String, Object> chunk(Chunk chunk) {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("name", chunk.name());
        object.putAll(tensor(chunk));
        object.put("box", box(chunk));
        return object;
    }

    static Chunk chunk(@Nullable Object json) {
        Map<?, ?> object = object(json);
        Map<?, ?> box = object(object.get("box"));
        return chunk(text(object.get("name")), object, box);
    }

    static Map<String, Object> box(Chunk chunk) {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("offsets", chunk.offsets());
        object.put("shape", chunk.shape());
        return object;
    }

    static Chunk chunk(String name, Map<?, ?> tensor, Map<?, ?> box) {
        String typeName = text(tensor.get("dtype"));
        ElementType type = ElementType.named(typeName)
                .orElseThrow(() -> new IllegalArgumentException("tensor '" + name + "' has the type " + typeName));
        Chunk chunk = new Chunk(
                name, type, wholes(tensor.get("shape")), wholes(box.get("offsets")), wholes(box.get("shape")));
        boolean fits = chunk.offsets().size() == chunk.globalShape().size()
                && chunk.shape().size() == chunk.globalShape().size();
        for (int i = 0; fits && i < chunk.shape().size(); i++) {
            fits = chunk.shape().get(i)
                    <= chunk.globalShape().get(i) - chunk.offsets().get(i);
        }
        if (!fits) {
            throw new IllegalArgumentException("tensor '" + name + "' of shape " + chunk.globalShape()
                    + " has no part of shape " + chunk.shape() + " at " + chunk.offsets());
        }
        return chunk;
    }

    static Map<?, ?> object(@Nullable Object json) {
        return typed(json, Map.class, "an object");
    }

    static List<?> list(@Nullable Object json) {
        return typed(json, List.class, "a list");
    }

    static String text(@Nullable Object json) {
        return typed(json, String.class, "a string");
    }

    static long whole(@Nullable Object json) {
        long number = typed(json, Long.class, "a whole number");
        if (number < 0) {
            throw new IllegalArgumentException(number + " where 0 or more is expected");
        }
        return number;
    }

    private static List<Long> wholes(@Nullable Object json) {
        return list(json).stream().map(ChunkJson::whole).toList();
    }

    private static <T> T typed(@Nullable Object json, Class<T> type, String what) {
        if (!type.isInstance(json)) {
            throw new IllegalArgumentException(json + " where " + what + " is expected");
        }
        return type.cast(json);
    }
}
