package io.jrun.train.checkpoint.sharded;

import io.jrun.train.json.JsonReader;
import io.jrun.train.json.JsonWriter;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * The snapshot of one rank in one piece of memory, which later snapshots of the same form use again. Confined to one
 * thread.
 */
final class HeldSnapshot implements AutoCloseable {
    /** The alignment that libtorch gives its own tensors. */
    private static final long ALIGNMENT = 64;

    private static final long NONE = -1;

    private final Arena arena = Arena.ofShared();
    private final List<Chunk> chunks;
    private final Map<String, String> texts;
    private final List<Long> positions = new ArrayList<>();
    private final MemorySegment memory;
    private long step = NONE;

    private HeldSnapshot(List<Chunk> chunks, Map<String, String> texts) {
        this.chunks = List.copyOf(chunks);
        this.texts = new LinkedHashMap<>(texts);
        long at = 0;
        for (Chunk chunk : chunks) {
            positions.add(at);
            at = Math.ceilDiv(at + chunk.bytes(), ALIGNMENT) * ALIGNMENT;
        }
        memory = arena.allocate(Math.max(ALIGNMENT, at), ALIGNMENT);
    }

    /** Memory for a snapshot of this form. */
    static HeldSnapshot of(String description) {
        Map<?, ?> json = JsonReader.readObject(description);
        Map<String, String> texts = new LinkedHashMap<>();
        ChunkJson.object(json.get("texts")).forEach((key, value) -> texts.put((String) key, ChunkJson.text(value)));
        return new HeldSnapshot(
                ChunkJson.list(json.get("held")).stream().map(ChunkJson::chunk).toList(), texts);
    }

    /** The form and the texts of a state, for {@link #of}. */
    static String describe(StateDict state) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put(
                "held",
                state.entries().stream().map(Chunk::of).map(ChunkJson::chunk).toList());
        json.put("texts", state.texts());
        return JsonWriter.write(json);
    }

    String describe() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("held", chunks.stream().map(ChunkJson::chunk).toList());
        json.put("texts", texts);
        return JsonWriter.write(json);
    }

    /**
     * Whether the memory has the form of another description. The texts of the description become those of the
     * snapshot.
     */
    boolean takesForm(String description) {
        Map<?, ?> json = JsonReader.readObject(description);
        if (!ChunkJson.list(json.get("held")).stream()
                .map(ChunkJson::chunk)
                .toList()
                .equals(chunks)) {
            return false;
        }
        texts.clear();
        ChunkJson.object(json.get("texts")).forEach((key, value) -> texts.put((String) key, ChunkJson.text(value)));
        return true;
    }

    /** Copies the tensors of a state of this form. */
    void copy(StateDict state) {
        int i = 0;
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (StateEntry entry : state.entries()) {
                if (entry.local().numel() > 0) {
                    TensorMemory.copy(entry.local(), tensor(i));
                }
                i++;
            }
        }
    }

    /** Copies the elements that this snapshot and a wanted entry share. Returns their number. */
    long fill(StateEntry wanted) {
        long elements = 0;
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (int i = 0; i < chunks.size(); i++) {
                Chunk chunk = chunks.get(i);
                if (!chunk.name().equals(wanted.name()) || chunk.elements() == 0) {
                    continue;
                }
                var overlap = Overlap.of(wanted, chunk);
                if (overlap.isPresent()) {
                    overlap.get()
                            .in(wanted.local().detach(), wanted.offsets())
                            .copy_(overlap.get().in(tensor(i), chunk.offsets()));
                    elements += overlap.get().elements();
                }
            }
        }
        return elements;
    }

    private Tensor tensor(int i) {
        Chunk chunk = chunks.get(i);
        return TensorMemory.tensor(
                memory.asSlice(positions.get(i), chunk.bytes()),
                chunk.type().torch(),
                chunk.shape().stream().mapToLong(Long::longValue).toArray());
    }

    Map<String, String> texts() {
        return Map.copyOf(texts);
    }

    MemorySegment memory() {
        return memory;
    }

    /** The step of the snapshot; negative while the memory is being written. */
    long step() {
        return step;
    }

    void begin() {
        step = NONE;
    }

    void end(long newStep) {
        step = newStep;
    }

    @Override
    public void close() {
        arena.close();
    }
}
