package io.jrun.train.checkpoint;

import io.jrun.comm.file.FileError;
import io.jrun.train.json.JsonObject;
import io.jrun.train.json.JsonWriter;
import io.jrun.train.storage.AtomicFile;
import io.jrun.train.storage.AtomicFile.PreparedFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.bytedeco.pytorch.Tensor;

/**
 * A model as one safetensors file, or as several with an index: {@code model-00001-of-00003.safetensors} and
 * {@code model.safetensors.index.json}. Source of the names and of the index: torch's {@code
 * distributed/checkpoint/_hf_utils.py}.
 */
public final class SafetensorsFolder {
    /** The name of the file if the model has one file. */
    public static final String SINGLE_FILE = "model.safetensors";

    /** The name of the index if the model has several files. */
    public static final String INDEX_FILE = SINGLE_FILE + ".index.json";

    /** Hugging Face's default size of one file. */
    public static final long DEFAULT_SHARD_BYTES = 5_000_000_000L;

    private static final Pattern SHARD = Pattern.compile("model-\\d{5}-of-\\d{5}\\.safetensors");

    private SafetensorsFolder() {}

    /**
     * Writes a model. All bytes are on disk before a file gets its name, and the index, or the single file, gets its name
     * last. After a kill the folder has the earlier model or the new model. If both have an index, a kill between the
     * first rename and the last leaves no index; the folder never has a mix of two models. Files that only the earlier
     * index names are removed.
     *
     * @param shardBytes limit for the tensors of one file in bytes; a larger tensor gets a file of its own
     * @throws CheckpointException like {@link Safetensors#write}
     */
    public static void write(Path folder, Map<String, Tensor> tensors, Map<String, String> metadata, long shardBytes) {
        List<Map<String, Tensor>> shards = split(tensors, shardBytes);
        try {
            Set<String> earlier = filesOfIndex(folder);
            if (shards.size() == 1) {
                Safetensors.write(folder.resolve(SINGLE_FILE), tensors, metadata);
                Files.deleteIfExists(folder.resolve(INDEX_FILE));
            } else {
                earlier.removeAll(writeShards(folder, shards, metadata));
                Files.deleteIfExists(folder.resolve(SINGLE_FILE));
            }
            for (String name : earlier) {
                Files.deleteIfExists(folder.resolve(name));
            }
        } catch (IOException e) {
            throw new CheckpointException("cannot write " + folder + ": " + FileError.reason(e, folder), e);
        }
    }

    private static Set<String> writeShards(Path folder, List<Map<String, Tensor>> shards, Map<String, String> metadata)
            throws IOException {
        Map<String, String> weightMap = new TreeMap<>();
        List<PreparedFile> prepared = new ArrayList<>();
        try {
            long totalBytes = 0;
            for (int i = 0; i < shards.size(); i++) {
                String name = String.format(Locale.ROOT, "model-%05d-of-%05d.safetensors", i + 1, shards.size());
                Map<String, Tensor> shard = shards.get(i);
                prepared.add(AtomicFile.prepare(folder.resolve(name), Safetensors.content(shard, metadata)));
                shard.keySet().forEach(tensor -> weightMap.put(tensor, name));
                totalBytes += shard.values().stream().mapToLong(Tensor::nbytes).sum();
            }
            ByteBuffer index = ByteBuffer.wrap(index(totalBytes, weightMap).getBytes(StandardCharsets.UTF_8));
            prepared.add(AtomicFile.prepare(folder.resolve(INDEX_FILE), channel -> {
                while (index.hasRemaining()) {
                    int _ = channel.write(index);
                }
            }));
            if (Files.deleteIfExists(folder.resolve(INDEX_FILE))) {
                AtomicFile.syncFolder(folder);
            }
            for (PreparedFile file : prepared.subList(0, shards.size())) {
                file.publish();
            }
            AtomicFile.syncFolder(folder);
            prepared.getLast().publish();
            AtomicFile.syncFolder(folder);
        } finally {
            for (PreparedFile file : prepared) {
                file.close();
            }
        }
        return Set.copyOf(weightMap.values());
    }

    /** The files of this class's names that an index names; none if there is no index or if it is unusable. */
    private static Set<String> filesOfIndex(Path folder) {
        Path index = folder.resolve(INDEX_FILE);
        Set<String> names = new TreeSet<>();
        if (Files.exists(index)) {
            try {
                names.addAll(readIndex(index).values());
            } catch (CheckpointException _) {
                return names;
            }
        }
        names.removeIf(name -> !SHARD.matcher(name).matches());
        return names;
    }

    /**
     * Reads an index of safetensors files or of {@code torch.save}'s files. The result maps a tensor to its file.
     *
     * @throws CheckpointException if the index cannot be read, is malformed, or names a file outside its folder
     */
    public static Map<String, String> readIndex(Path index) {
        try {
            Map<String, String> weightMap =
                    JsonObject.read(index).object("weight_map").strings();
            weightMap.forEach((tensor, file) -> {
                if (file.isEmpty() || file.contains("/") || file.startsWith(".") || !isPath(file)) {
                    throw new IllegalArgumentException(index + ": tensor '" + tensor + "' is in '" + file
                            + "', expected the name of a file in the same folder");
                }
            });
            return weightMap;
        } catch (IOException e) {
            throw new CheckpointException("cannot read " + index + ": " + FileError.reason(e, index), e);
        } catch (IllegalArgumentException e) {
            throw new CheckpointException(String.valueOf(e.getMessage()), e);
        }
    }

    /** A path has no zero character, and the file system of this process has all its characters. */
    private static boolean isPath(String name) {
        try {
            Path _ = Path.of(name);
            return true;
        } catch (InvalidPathException _) {
            return false;
        }
    }

    private static List<Map<String, Tensor>> split(Map<String, Tensor> tensors, long shardBytes) {
        List<Map<String, Tensor>> shards = new ArrayList<>();
        shards.add(new LinkedHashMap<>());
        long used = 0;
        for (Map.Entry<String, Tensor> entry : tensors.entrySet()) {
            long bytes = entry.getValue().nbytes();
            if (used + bytes > shardBytes && !shards.getLast().isEmpty()) {
                shards.add(new LinkedHashMap<>());
                used = 0;
            }
            shards.getLast().put(entry.getKey(), entry.getValue());
            used += bytes;
        }
        return shards;
    }

    private static String index(long totalBytes, Map<String, String> weightMap) {
        List<String> members = weightMap.entrySet().stream()
                .map(entry -> "    " + JsonWriter.write(entry.getKey()) + ": " + JsonWriter.write(entry.getValue()))
                .toList();
        return "{\n  \"metadata\": {\n    \"total_size\": " + totalBytes + "\n  },\n  \"weight_map\": {\n"
                + String.join(",\n", members) + "\n  }\n}\n";
    }
}
