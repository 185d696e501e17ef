package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.checkpoint.StoredTensor;
import io.jrun.train.json.JsonReader;
import io.jrun.train.json.JsonWriter;
import io.jrun.train.storage.ObjectWriter;
import io.jrun.train.storage.Storage;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * One save of all ranks: the ranks exchange lists of their chunks, each rank writes its part, and rank 0 commits the
 * index. A failure of one rank is an error on all ranks, with the rank and the cause, and nothing is committed.
 */
final class CheckpointWriter {
    private static final int RANDOM_BYTES = 8;
    /** A page: the kernel copies aligned bytes faster. */
    private static final int DATA_ALIGNMENT = 4096;

    private static final String FORMAT = "pt";
    private static final String LIST = "list";

    private final Storage storage;
    private final RankExchange ranks;
    private final String run;
    private final SecureRandom random = new SecureRandom();

    CheckpointWriter(Storage storage, RankExchange ranks, String run) {
        this.storage = storage;
        this.ranks = ranks;
        this.run = run;
    }

    /** The work of rank 0 before and after a save. */
    interface Housekeeping {
        /** Before any rank writes. */
        void prepare();

        /** After the commit. */
        void cleanUp();
    }

    /**
     * Writes and commits. Collective.
     *
     * @param folder the folder of the checkpoint, ends with {@code /}
     * @throws CheckpointException on every rank if one rank fails
     * @throws io.jrun.comm.CommException if the ranks cannot exchange texts; the part stays, because rank 0 may commit
     *     it, and a later sweep removes a part without a commit
     */
    void write(String folder, long step, StateDict state, Housekeeping housekeeping) {
        String place = storage + "/" + folder;
        List<String> held = ranks.run("prepare to save " + place, () -> {
            if (ranks.rank() == 0) {
                housekeeping.prepare();
            }
            return encode(held(state));
        });
        SavePlan plan = SavePlan.of(held.stream()
                .map(CheckpointWriter::parse)
                .map(json -> json.stream().map(ChunkJson::chunk).toList())
                .toList());
        Map<String, List<Chunk>> files = new LinkedHashMap<>();
        plan.filesOf(ranks.rank()).forEach(chunks -> files.put(partName(), chunks));
        List<String> receipts;
        try {
            receipts = ranks.run("write a part of " + place, () -> writeParts(folder, files, state));
        } catch (CheckpointException e) {
            files.keySet().forEach(file -> discard(folder + file, e));
            throw e;
        }
        // A commit that reports an error may have succeeded, so the parts stay.
        ranks.run("commit " + place, () -> {
            if (ranks.rank() == 0) {
                commit(folder, index(step, state, plan, receipts));
                housekeeping.cleanUp();
            }
            return "";
        });
    }

    private void discard(String part, CheckpointException failure) {
        try {
            storage.delete(part);
        } catch (IOException e) {
            failure.addSuppressed(e);
        }
    }

    private static String encode(List<Map<String, Object>> list) {
        return JsonWriter.write(Map.of(LIST, list));
    }

    private static List<?> parse(String text) {
        return ChunkJson.list(JsonReader.readObject(text).get(LIST));
    }

    private static List<Map<String, Object>> held(StateDict state) {
        return state.entries().stream().map(Chunk::of).map(ChunkJson::chunk).toList();
    }

    /** The name has the run and random bytes, so that no part of an earlier or another save has the same name. */
    private String partName() {
        byte[] bytes = new byte[RANDOM_BYTES];
        random.nextBytes(bytes);
        return String.format(
                Locale.ROOT,
                "part-%s-r%05d-%s.safetensors",
                run.replaceAll("[^A-Za-z0-9_-]", "_"),
                ranks.rank(),
                HexFormat.of().formatHex(bytes));
    }

    private String writeParts(String folder, Map<String, List<Chunk>> files, StateDict state) throws IOException {
        Map<String, List<StateEntry>> entries = new TreeMap<>();
        state.entries()
                .forEach(entry -> entries.computeIfAbsent(entry.name(), _ -> new ArrayList<>())
                        .add(entry));
        List<Map<String, Object>> written = new ArrayList<>();
        for (Map.Entry<String, List<Chunk>> file : files.entrySet()) {
            written.add(writePart(folder, file.getKey(), file.getValue(), entries));
        }
        return encode(written);
    }

    private Map<String, Object> writePart(
            String folder, String file, List<Chunk> chunks, Map<String, List<StateEntry>> entries) throws IOException {
        Map<String, Object> offsets = new TreeMap<>();
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        Map<String, Object> receipt = new LinkedHashMap<>();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (Chunk chunk : chunks) {
                StateEntry entry = entries.getOrDefault(chunk.name(), List.of()).stream()
                        .filter(held -> Chunk.of(held).overlaps(chunk))
                        .findFirst()
                        .orElseThrow();
                tensors.put(chunk.name(), piece(entry, chunk));
                offsets.put(chunk.name(), Map.of("saved_offsets", chunk.offsets()));
            }
            Map<String, String> metadata =
                    Map.of("format", FORMAT, "DCP_VERSION", "1.0", "DCP_SHARDING_INFO", JsonWriter.write(offsets));
            try (ObjectWriter writer = storage.create(folder + file)) {
                ChecksummedPart part = new ChecksummedPart(writer);
                List<StoredTensor> stored = Safetensors.write(part, tensors, metadata, DATA_ALIGNMENT);
                writer.finish();
                Map<String, Object> positions = new LinkedHashMap<>();
                stored.forEach(tensor -> positions.put(tensor.name(), tensor.position()));
                receipt.put("part", ChunkJson.part(part.end(file)));
                receipt.put("positions", positions);
            }
        }
        return receipt;
    }

    /** The rows of a chunk, on their device. */
    private static Tensor piece(StateEntry entry, Chunk chunk) {
        Tensor rows = entry.local().detach();
        if (!chunk.shape().equals(entry.shape())) {
            rows = rows.narrow(
                    0,
                    chunk.offsets().getFirst() - entry.offsets().getFirst(),
                    chunk.shape().getFirst());
        }
        return rows;
    }

    private CheckpointIndex index(long step, StateDict state, SavePlan plan, List<String> receipts) {
        List<SavedPart> parts = new ArrayList<>();
        Map<String, List<SavedChunk>> tensors = new TreeMap<>();
        for (int rank = 0; rank < receipts.size(); rank++) {
            List<?> written = parse(receipts.get(rank));
            for (int file = 0; file < written.size(); file++) {
                Map<?, ?> receipt = ChunkJson.object(written.get(file));
                Map<?, ?> positions = ChunkJson.object(receipt.get("positions"));
                for (Chunk chunk : plan.filesOf(rank).get(file)) {
                    tensors.computeIfAbsent(chunk.name(), _ -> new ArrayList<>())
                            .add(new SavedChunk(chunk, parts.size(), ChunkJson.whole(positions.get(chunk.name()))));
                }
                parts.add(ChunkJson.part(receipt.get("part")));
            }
        }
        plan.tensors().forEach((name, chunk) -> {
            if (!tensors.containsKey(name)) {
                tensors.put(name, List.of(new SavedChunk(chunk, 0, 0)));
            }
        });
        return new CheckpointIndex(step, run, ranks.size(), state.texts(), parts, tensors);
    }

    private void commit(String folder, CheckpointIndex index) throws IOException {
        String name = folder + CheckpointIndex.FILE;
        storage.commit(name, index.encode(), storage.version(name));
    }
}
