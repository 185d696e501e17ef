package io.jrun.train.checkpoint.sharded;

import io.jrun.train.json.JsonReader;
import io.jrun.train.json.JsonWriter;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The index of a checkpoint: its parts, its tensors, and where each chunk lies. The file that holds the index is
 * written last, and its rename is the commit. Its first member is the CRC32C of the text behind the first member.
 *
 * @param step the step after which the state was saved
 * @param run the name of the job that saved
 * @param ranks number of ranks that saved
 * @param tensors the chunks of each tensor by name; a tensor without elements has one chunk without elements
 */
record CheckpointIndex(
        long step,
        String run,
        int ranks,
        Map<String, String> texts,
        List<SavedPart> parts,
        Map<String, List<SavedChunk>> tensors) {
    /** The name of the file. */
    static final String FILE = "checkpoint.json";

    private static final String FORMAT = "jrun-checkpoint-1";
    private static final String CHECKSUM = "{\"crc32c\":\"";
    private static final int CHECKSUM_DIGITS = 8;
    private static final int REST = CHECKSUM.length() + CHECKSUM_DIGITS + 2;

    byte[] encode() {
        Map<String, Object> root = new LinkedHashMap<>();
        root.put("format", FORMAT);
        root.put("step", step);
        root.put("run", run);
        root.put("ranks", ranks);
        root.put("texts", new TreeMap<>(texts));
        root.put("parts", parts.stream().map(ChunkJson::part).toList());
        Map<String, Object> described = new TreeMap<>();
        tensors.forEach((name, chunks) -> {
            Map<String, Object> tensor = ChunkJson.tensor(chunks.getFirst().chunk());
            tensor.put("chunks", chunks.stream().map(CheckpointIndex::chunk).toList());
            described.put(name, tensor);
        });
        root.put("tensors", described);
        byte[] rest = JsonWriter.write(root).substring(1).getBytes(StandardCharsets.UTF_8);
        byte[] first = (CHECKSUM + checksum(ByteBuffer.wrap(rest)) + "\",").getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(first.length + rest.length)
                .put(first)
                .put(rest)
                .array();
    }

    private static Map<String, Object> chunk(SavedChunk saved) {
        Map<String, Object> object = ChunkJson.box(saved.chunk());
        object.put("part", saved.part());
        object.put("position", saved.position());
        return object;
    }

    /**
     * Reads an index and checks it.
     *
     * @throws IllegalArgumentException if the index is not valid; the message names the error
     */
    static CheckpointIndex decode(byte[] bytes) {
        try {
            return checked(bytes);
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("a size is beyond 64 bits", e);
        }
    }

    private static CheckpointIndex checked(byte[] bytes) {
        String text = text(bytes);
        if (!text.startsWith(CHECKSUM) || bytes.length < REST) {
            throw new IllegalArgumentException("it does not begin with " + CHECKSUM);
        }
        String expected = text.substring(CHECKSUM.length(), CHECKSUM.length() + CHECKSUM_DIGITS);
        String found = checksum(ByteBuffer.wrap(bytes, REST, bytes.length - REST));
        if (!found.equals(expected)) {
            throw new IllegalArgumentException("its checksum is " + found + ", expected " + expected);
        }
        Map<String, @Nullable Object> root = JsonReader.readObject(text);
        if (!FORMAT.equals(root.get("format"))) {
            throw new IllegalArgumentException("its format is " + root.get("format") + ", expected " + FORMAT);
        }
        List<SavedPart> parts =
                ChunkJson.list(root.get("parts")).stream().map(ChunkJson::part).toList();
        Map<String, String> texts = new LinkedHashMap<>();
        ChunkJson.object(root.get("texts")).forEach((key, value) -> texts.put((String) key, ChunkJson.text(value)));
        return new CheckpointIndex(
                ChunkJson.whole(root.get("step")),
                ChunkJson.text(root.get("run")),
                Math.toIntExact(ChunkJson.whole(root.get("ranks"))),
                texts,
                parts,
                tensors(ChunkJson.object(root.get("tensors")), parts));
    }

    private static Map<String, List<SavedChunk>> tensors(Map<?, ?> described, List<SavedPart> parts) {
        Map<String, List<SavedChunk>> tensors = new LinkedHashMap<>();
        described.forEach((name, json) -> {
            Map<?, ?> tensor = ChunkJson.object(json);
            List<SavedChunk> chunks = new ArrayList<>();
            for (Object each : ChunkJson.list(tensor.get("chunks"))) {
                Map<?, ?> box = ChunkJson.object(each);
                int part = Math.toIntExact(ChunkJson.whole(box.get("part")));
                SavedChunk chunk = new SavedChunk(
                        ChunkJson.chunk((String) name, tensor, box), part, ChunkJson.whole(box.get("position")));
                boolean isInside = part < parts.size()
                        && chunk.chunk().bytes() <= parts.get(part).bytes() - chunk.position();
                if (chunk.chunk().elements() > 0 && !isInside) {
                    throw new IllegalArgumentException("tensor '" + name + "' lies outside of its part");
                }
                chunks.add(chunk);
            }
            if (chunks.isEmpty()) {
                throw new IllegalArgumentException("tensor '" + name + "' has no chunk");
            }
            long present =
                    chunks.stream().mapToLong(saved -> saved.chunk().elements()).reduce(0, Math::addExact);
            long all = Chunk.volume(chunks.getFirst().chunk().globalShape());
            if (present != all) {
                throw new IllegalArgumentException(
                        "tensor '" + name + "' has " + present + " of its " + all + " elements");
            }
            tensors.put((String) name, List.copyOf(chunks));
        });
        return tensors;
    }

    private static String text(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("it is not UTF-8", e);
        }
    }

    private static String checksum(ByteBuffer rest) {
        CRC32C checksum = new CRC32C();
        checksum.update(rest);
        return String.format(Locale.ROOT, "%08x", checksum.getValue());
    }
}
