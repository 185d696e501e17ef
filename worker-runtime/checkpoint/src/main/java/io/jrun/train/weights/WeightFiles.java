package io.jrun.train.weights;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.checkpoint.SafetensorsFolder;
import io.jrun.train.checkpoint.TensorFile;
import io.jrun.train.pickle.TorchFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The tensors of a model on disk, by name: one file, or several files with an index. Thread-safe.
 *
 * <p>In a folder the first of these files is used: {@code model.safetensors}, {@code model.safetensors.index.json},
 * {@code pytorch_model.bin}, {@code pytorch_model.bin.index.json}, {@code consolidated.00.pth} (Meta). Hugging Face's
 * transformers uses the same order.
 */
public final class WeightFiles implements AutoCloseable {
    private static final String INDEX_SUFFIX = ".index.json";
    private static final List<String> CANDIDATES = List.of(
            SafetensorsFolder.SINGLE_FILE,
            SafetensorsFolder.INDEX_FILE,
            "pytorch_model.bin",
            "pytorch_model.bin" + INDEX_SUFFIX,
            "consolidated.00.pth");

    private final Path path;
    private final List<TensorFile> open = new ArrayList<>();
    private final Map<String, TensorFile> byName = new LinkedHashMap<>();

    private WeightFiles(Path path) {
        this.path = path;
    }

    /**
     * Opens the files of a model.
     *
     * @param path a safetensors file, a file of {@code torch.save}, an index, or a folder
     * @throws CheckpointException if no file is found, a file of the index is missing, a file is malformed, or the
     *     index and a file disagree; the message is one line
     */
    public static WeightFiles open(Path path) {
        WeightFiles files = new WeightFiles(path);
        try {
            files.openAll(Files.isDirectory(path) ? find(path) : path);
            return files;
        } catch (CheckpointException e) {
            files.close();
            throw e;
        }
    }

    /** All names in the order of the files. */
    public Set<String> names() {
        return Collections.unmodifiableSet(byName.keySet());
    }

    /**
     * The file that has a tensor.
     *
     * @throws CheckpointException if no file has the tensor
     */
    public TensorFile fileOf(String name) {
        TensorFile file = byName.get(name);
        if (file == null) {
            throw new CheckpointException(path + " lacks tensor '" + name + "'");
        }
        return file;
    }

    /** A sentence about the objects in the files, which jrun does not read; empty if there are none. */
    String objects() {
        Map<String, String> objects = new TreeMap<>();
        open.forEach(file -> objects.putAll(file.objects()));
        if (objects.isEmpty()) {
            return "";
        }
        List<String> some = objects.entrySet().stream()
                .limit(3)
                .map(entry -> "'" + entry.getKey() + "' (" + entry.getValue() + ")")
                .toList();
        return " The file has objects, which jrun does not read: " + String.join(", ", some)
                + ". Save model.state_dict() instead of an object.";
    }

    /** The bytes of tensors that were read from all files so far. */
    public long bytesRead() {
        return open.stream().mapToLong(TensorFile::bytesRead).sum();
    }

    @Override
    public void close() {
        open.forEach(TensorFile::close);
    }

    private static Path find(Path folder) {
        return CANDIDATES.stream()
                .map(folder::resolve)
                .filter(Files::exists)
                .findFirst()
                .orElseThrow(() -> new CheckpointException(folder + " has no weights: expected one of "
                        + String.join(", ", CANDIDATES) + ". Give the folder of a model, or the file itself."));
    }

    private void openAll(Path file) {
        if (file.toString().endsWith(INDEX_SUFFIX)) {
            openIndexed(file);
        } else {
            TensorFile opened = openFile(file);
            opened.names().forEach(name -> byName.put(name, opened));
        }
    }

    private void openIndexed(Path index) {
        Map<String, String> weightMap = SafetensorsFolder.readIndex(index);
        Set<String> fileNames = Set.copyOf(weightMap.values());
        Map<String, TensorFile> opened = new LinkedHashMap<>();
        for (String fileName : fileNames.stream().sorted().toList()) {
            Path file = index.resolveSibling(fileName);
            if (!Files.exists(file)) {
                throw new CheckpointException(index + " names the file " + fileName + ", which is missing. Copy all "
                        + fileNames.size() + " files of the model to the folder.");
            }
            TensorFile source = openFile(file);
            opened.put(fileName, source);
            source.names().stream()
                    .filter(name -> fileName.equals(weightMap.get(name)))
                    .forEach(name -> byName.put(name, source));
        }
        weightMap.forEach((name, fileName) -> {
            TensorFile source = opened.get(fileName);
            if (source == null || !source.names().contains(name)) {
                throw new CheckpointException(index + " says that tensor '" + name + "' is in " + fileName
                        + ", but the file lacks the tensor. The index and the files are of different models.");
            }
        });
    }

    private TensorFile openFile(Path file) {
        TensorFile opened = isTorchFile(file) ? TorchFile.open(file) : Safetensors.open(file);
        open.add(opened);
        return opened;
    }

    /** A zip file begins with PK, a pickle with 0x80. A safetensors file has '{' or a blank as its ninth byte. */
    private static boolean isTorchFile(Path file) {
        try (InputStream in = UserFile.stream(file)) {
            byte[] begin = in.readNBytes(9);
            boolean isSafetensors = begin.length == 9 && "{ \t\r\n".indexOf(begin[8]) >= 0;
            boolean isZip = begin.length >= 2 && begin[0] == 'P' && begin[1] == 'K';
            boolean isPickle = begin.length >= 1 && begin[0] == (byte) 0x80;
            return (isZip || isPickle) && !isSafetensors;
        } catch (IOException e) {
            throw new CheckpointException("cannot read " + file + ": " + FileError.reason(e, file), e);
        }
    }
}
