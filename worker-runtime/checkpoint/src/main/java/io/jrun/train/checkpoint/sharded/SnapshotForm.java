package io.jrun.train.checkpoint.sharded;

import io.jrun.train.json.JsonReader;
import io.jrun.train.json.JsonWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The state of one rank without the elements: which boxes the rank holds, and the texts. */
record SnapshotForm(List<Chunk> chunks, Map<String, String> texts) {
    /** The alignment that libtorch gives its own tensors. */
    static final long ALIGNMENT = 64;

    SnapshotForm {
        chunks = List.copyOf(chunks);
        texts = Map.copyOf(texts);
    }

    static SnapshotForm of(StateDict state) {
        return new SnapshotForm(state.entries().stream().map(Chunk::of).toList(), state.texts());
    }

    /** Reads what {@link #toJson} has written. */
    static SnapshotForm parse(String text) {
        Map<?, ?> json = JsonReader.readObject(text);
        Map<String, String> texts = new LinkedHashMap<>();
        ChunkJson.object(json.get("texts")).forEach((key, value) -> texts.put((String) key, ChunkJson.text(value)));
        return new SnapshotForm(
                ChunkJson.list(json.get("held")).stream().map(ChunkJson::chunk).toList(), texts);
    }

    String toJson() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("held", chunks.stream().map(ChunkJson::chunk).toList());
        json.put("texts", texts);
        return JsonWriter.write(json);
    }

    /** Where the elements of each chunk begin in the memory of a snapshot. The last number is the end of all. */
    List<Long> positions() {
        List<Long> positions = new ArrayList<>();
        long at = 0;
        for (Chunk chunk : chunks) {
            positions.add(at);
            at = Math.ceilDiv(at + chunk.bytes(), ALIGNMENT) * ALIGNMENT;
        }
        positions.add(Math.max(ALIGNMENT, at));
        return positions;
    }

    /** The size of the memory of a snapshot. */
    long bytes() {
        return positions().getLast();
    }
}
