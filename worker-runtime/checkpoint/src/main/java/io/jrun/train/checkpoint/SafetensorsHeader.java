package io.jrun.train.checkpoint;

import io.jrun.train.json.JsonReader;
import io.jrun.train.json.JsonWriter;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The header of a safetensors file: free text metadata, and the tensors in the order of their bytes. The serialised
 * form equals the reference writer's: metadata first, compact JSON, padded with spaces to a multiple of 8 bytes.
 */
record SafetensorsHeader(Map<String, String> metadata, List<TensorEntry> entries) {
    /**
     * The format's own limit. The limit also bounds the memory that a file with a wrong length makes the reader
     * allocate.
     */
    static final long MAX_BYTES = 100_000_000;

    static final int LENGTH_BYTES = 8;
    private static final String METADATA = "__metadata__";
    private static final Set<String> FIELDS = Set.of("dtype", "shape", "data_offsets");

    SafetensorsHeader {
        metadata = Map.copyOf(metadata);
        entries = List.copyOf(entries);
    }

    /** @param alignment the data of the file begin at a multiple of this number; 8 gives the reference writer's form */
    byte[] encode(int alignment) {
        Map<String, Object> root = new LinkedHashMap<>();
        if (!metadata.isEmpty()) {
            root.put(METADATA, new TreeMap<>(metadata));
        }
        entries.forEach(entry -> root.put(entry.name(), json(entry)));
        byte[] text = JsonWriter.write(root).getBytes(StandardCharsets.UTF_8);
        int dataStart = Math.ceilDiv(LENGTH_BYTES + text.length, alignment) * alignment;
        byte[] padded = Arrays.copyOf(text, dataStart - LENGTH_BYTES);
        Arrays.fill(padded, text.length, padded.length, (byte) ' ');
        return padded;
    }

    private static Map<String, Object> json(TensorEntry entry) {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("dtype", entry.type().name());
        object.put("shape", entry.shape());
        object.put("data_offsets", List.of(entry.beginBytes(), entry.endBytes()));
        return object;
    }

    /**
     * Reads a header and checks every rule of the format.
     *
     * @param json text of the header
     * @param dataBytes bytes that follow the header in the file
     * @throws IllegalArgumentException if the header breaks a rule; the message names the tensor and the rule
     */
    static SafetensorsHeader decode(String json, long dataBytes) {
        // The reference reader allows blanks on both sides of the object: a writer may align the data with them.
        if (!json.stripLeading().startsWith("{")) {
            throw new IllegalArgumentException("the header does not begin with '{'");
        }
        Map<String, String> metadata = new LinkedHashMap<>();
        List<TensorEntry> entries = new ArrayList<>();
        JsonReader.readObject(json).forEach((name, value) -> {
            if (name.equals(METADATA) && value == null) {
                return;
            }
            if (name.equals(METADATA)) {
                object(name, value).forEach((key, text) -> metadata.put(key, typed(key, text, String.class)));
            } else {
                entries.add(entry(name, object(name, value)));
            }
        });
        entries.sort(Comparator.comparingLong(TensorEntry::beginBytes).thenComparingLong(TensorEntry::endBytes));
        checkCoverage(entries, dataBytes);
        return new SafetensorsHeader(metadata, entries);
    }

    private static TensorEntry entry(String name, Map<String, @Nullable Object> fields) {
        if (!fields.keySet().containsAll(FIELDS)) { // The reference reader ignores other fields.
            throw new IllegalArgumentException(
                    "tensor '" + name + "' must have dtype, shape and data_offsets, but has " + fields.keySet());
        }
        String typeName = typed(name, fields.get("dtype"), String.class);
        ElementType type = ElementType.named(typeName)
                .orElseThrow(() -> new IllegalArgumentException("tensor '" + name + "' has unknown dtype '" + typeName
                        + "' (known: " + List.of(ElementType.values()) + ")"));
        List<Long> shape = longs(name, fields.get("shape"));
        List<Long> offsets = longs(name, fields.get("data_offsets"));
        if (offsets.size() != 2 || offsets.get(1) < offsets.get(0)) {
            throw new IllegalArgumentException(
                    "tensor '" + name + "' has data_offsets " + offsets + ", expected [begin, end] with begin <= end");
        }
        TensorEntry entry = new TensorEntry(name, type, shape, offsets.get(0), offsets.get(1));
        checkSize(entry);
        return entry;
    }

    private static void checkSize(TensorEntry entry) {
        long bytes = entry.type().sizeBytes();
        try {
            for (long size : entry.shape()) {
                bytes = Math.multiplyExact(bytes, size);
            }
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(
                    "tensor '" + entry.name() + "' of shape " + entry.shape() + " has more than 2^63 bytes", e);
        }
        if (bytes != entry.sizeBytes()) {
            throw new IllegalArgumentException("tensor '" + entry.name() + "' of type " + entry.type() + " and shape "
                    + entry.shape() + " needs " + bytes + " bytes, but its data_offsets hold " + entry.sizeBytes());
        }
    }

    /**
     * Checks that the tensors cover the data section without overlap and without gap: else readers could disagree on
     * the content.
     */
    private static void checkCoverage(List<TensorEntry> entries, long dataBytes) {
        long end = 0;
        String before = "the header";
        for (TensorEntry entry : entries) {
            if (entry.beginBytes() != end) {
                String how = entry.beginBytes() < end ? "overlaps " : "leaves a gap after ";
                throw new IllegalArgumentException("tensor '" + entry.name() + "' begins at byte " + entry.beginBytes()
                        + " and " + how + before + ", which ends at " + end);
            }
            end = entry.endBytes();
            before = "tensor '" + entry.name() + "'";
        }
        if (end != dataBytes) {
            throw new IllegalArgumentException("the tensors take " + end + " bytes, but the file has " + dataBytes
                    + " after the header" + (end > dataBytes ? "; the file is truncated" : ""));
        }
    }

    private static Map<String, @Nullable Object> object(String name, @Nullable Object value) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        Map<?, ?> fields = typed(name, value, Map.class);
        fields.forEach((key, field) -> object.put((String) key, field));
        return object;
    }

    private static List<Long> longs(String name, @Nullable Object value) {
        List<Long> longs = new ArrayList<>();
        for (@Nullable Object element : typed(name, value, List.class)) {
            long size = typed(name, element, Long.class);
            if (size < 0) {
                throw new IllegalArgumentException("'" + name + "' holds " + size + ", expected at least 0");
            }
            longs.add(size);
        }
        return longs;
    }

    private static <T> T typed(String name, @Nullable Object value, Class<T> type) {
        if (!type.isInstance(value)) {
            String size = value instanceof BigInteger ? ", beyond 64 bits," : "";
            throw new IllegalArgumentException(
                    "'" + name + "' holds " + value + size + " where a " + type.getSimpleName() + " belongs");
        }
        return type.cast(value);
    }
}
