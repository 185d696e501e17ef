package io.jrun.train.checkpoint;

import io.jrun.comm.Device;
import io.jrun.comm.file.DirectFile;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.train.Libtorch;
import io.jrun.train.storage.FileObjectReader;
import io.jrun.train.storage.ObjectReader;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A file with named tensors, open for reading: a safetensors file or a file of {@code torch.save}. {@link #map} gives a
 * tensor over the mapped file without a copy. {@link #read} reads into a tensor of the program. Each call reads each
 * needed byte of the file once, and no other byte. Thread-safe.
 */
public final class TensorFile implements AutoCloseable {
    private final Path path;
    private final FileChannel channel;
    private final ObjectReader reader;
    private final Map<String, StoredTensor> tensors = new LinkedHashMap<>();
    private final Map<String, String> metadata;
    private final Map<String, String> objects;
    private final ByteOrder order;
    private final Arena arena = Arena.ofShared();
    private final AtomicLong bytesRead = new AtomicLong();
    private @Nullable MemorySegment mapped;

    private TensorFile(Path path, String key, FileChannel channel, Content content) {
        this.path = path;
        this.channel = channel;
        this.reader = new FileObjectReader(path, key, channel);
        content.tensors().forEach(tensor -> tensors.put(tensor.name(), tensor));
        metadata = Map.copyOf(content.metadata());
        objects = Map.copyOf(content.objects());
        order = content.order();
    }

    /**
     * The content of a file. The reader of the format makes this record. Names of tensors are unique.
     *
     * @param objects the class of each object that the reader does not make, by the key of the object
     */
    public record Content(
            List<StoredTensor> tensors, Map<String, String> metadata, Map<String, String> objects, ByteOrder order) {}

    /** Reads a file's description of its tensors. */
    @FunctionalInterface
    public interface Format {
        /**
         * Reads and checks the description of the tensors, not the tensors.
         *
         * @throws IOException if the file cannot be read
         * @throws IllegalArgumentException if the file breaks a rule of the format; the message names the rule
         */
        Content describe(FileChannel channel) throws IOException;
    }

    /**
     * Opens a file of a format.
     *
     * @param kind the format in errors, for example {@code safetensors}
     * @throws CheckpointException if the file cannot be read or breaks a rule of the format; the message is one line
     */
    public static TensorFile open(Path path, String kind, Format format) {
        Libtorch.load();
        FileChannel channel = null;
        try {
            String key = DirectFile.keyOf(path);
            channel = UserFile.open(path);
            Content content = format.describe(channel);
            long fileBytes = channel.size();
            content.tensors().forEach(tensor -> checkInside(tensor, fileBytes));
            TensorFile file = new TensorFile(path, key, channel, content);
            channel = null;
            return file;
        } catch (IOException e) {
            throw new CheckpointException("cannot read " + path + ": " + FileError.reason(e, path), e);
        } catch (IllegalArgumentException e) {
            throw new CheckpointException(path + " is not a valid " + kind + " file: " + e.getMessage() + ".", e);
        } finally {
            close(channel);
        }
    }

    private static void checkInside(StoredTensor tensor, long fileBytes) {
        if (tensor.sizeBytes() > fileBytes || tensor.spanBytes() > fileBytes - tensor.position()) {
            throw new IllegalArgumentException("tensor '" + tensor.name() + "' needs " + tensor.sizeBytes()
                    + " bytes at byte " + tensor.position() + ", but the file has " + fileBytes);
        }
    }

    /** The file. */
    public Path path() {
        return path;
    }

    /** The names of the tensors in the order of the file. */
    public Set<String> names() {
        return tensors.keySet();
    }

    /** The other entries of the file, as text. */
    public Map<String, String> metadata() {
        return metadata;
    }

    /** The classes of the objects in the file that jrun does not make, by their keys. */
    public Map<String, String> objects() {
        return objects;
    }

    /** Bytes that {@link #read} and {@link #load} have read so far. */
    public long bytesRead() {
        return bytesRead.get();
    }

    /** The position and layout of a tensor. Throws {@link CheckpointException} if the file lacks the tensor. */
    public StoredTensor stored(String name) {
        StoredTensor tensor = tensors.get(name);
        if (tensor == null) {
            throw new CheckpointException(path + " lacks tensor '" + name + "'");
        }
        return tensor;
    }

    /**
     * A tensor over the mapped file, without a copy. The tensor is valid until this file is closed. The memory is
     * read-only: an operation that changes the tensor in place ends the process. A tensor whose position is not a
     * multiple of its element size, or whose bytes are in the other byte order, is a copy.
     */
    public Tensor map(String name) {
        StoredTensor stored = stored(name);
        if (stored.sizeBytes() == 0
                || isSwapped(stored)
                || stored.position() % stored.type().sizeBytes() != 0) {
            return load(name);
        }
        MemorySegment memory = memory().asSlice(stored.position(), stored.spanBytes());
        try (Tensor flat = TensorMemory.tensor(
                memory,
                stored.type().torch(),
                stored.spanBytes() / stored.type().sizeBytes())) {
            return shaped(flat, stored);
        }
    }

    /** A tensor with memory of its own on the CPU, in the layout of the file. */
    public Tensor load(String name) {
        return load(stored(name), Device.CPU);
    }

    private Tensor load(StoredTensor stored, Device device) {
        long elements = stored.spanBytes() / stored.type().sizeBytes();
        try (Tensor flat = TensorMemory.empty(device, stored.type().torch(), elements)) {
            fill(stored, TensorMemory.elements(flat), device);
            return shaped(flat, stored);
        }
    }

    /**
     * Reads a tensor into a tensor of the same shape. Another element type or layout is converted.
     *
     * @throws CheckpointException if the file lacks the tensor, if the shapes differ, or if the file cannot be read
     */
    public void read(String name, Tensor destination) {
        StoredTensor stored = stored(name);
        if (!TensorMemory.shape(destination).equals(stored.shape().toString())) {
            throw new CheckpointException("tensor '" + name + "' is " + stored.form() + " in " + path + " but "
                    + TensorMemory.form(destination) + " in the program");
        }
        Optional<ElementType> type = ElementType.of(destination.scalar_type());
        Device wanted = TensorMemory.device(destination);
        Device device = place(stored, wanted);
        if (device.equals(wanted)
                && destination.is_contiguous()
                && stored.isRowMajor()
                && type.equals(Optional.of(stored.type()))) {
            fill(stored, TensorMemory.elements(destination), device);
            TensorMemory.noteWrite(destination);
            return;
        }
        try (NoGradGuard _ = new NoGradGuard();
                Tensor loaded = load(stored, device)) {
            destination.copy_(loaded);
        }
    }

    /** The device into whose memory a tensor is read for a tensor on {@code wanted}. */
    private Device place(StoredTensor stored, Device wanted) {
        try {
            return isSwapped(stored) ? Device.CPU : reader.place(wanted);
        } catch (IOException e) {
            throw unreadable(stored, e);
        }
    }

    private CheckpointException unreadable(StoredTensor stored, IOException e) {
        return new CheckpointException(
                "cannot read tensor '" + stored.name() + "' of " + path + ": " + FileError.reason(e, path), e);
    }

    private static Tensor shaped(Tensor flat, StoredTensor stored) {
        return flat.as_strided(stored.sizes(), stored.steps(), new LongOptional(0));
    }

    private boolean isSwapped(StoredTensor stored) {
        return order == ByteOrder.BIG_ENDIAN && stored.type().sizeBytes() > 1;
    }

    private synchronized MemorySegment memory() {
        MemorySegment whole = mapped;
        if (whole == null) {
            try {
                whole = channel.map(MapMode.READ_ONLY, 0, channel.size(), arena);
            } catch (IOException e) {
                throw new CheckpointException("cannot map " + path + ": " + FileError.reason(e, path), e);
            }
            mapped = whole;
        }
        return whole;
    }

    private void fill(StoredTensor stored, MemorySegment destination, Device device) {
        try {
            bytesRead.addAndGet(destination.byteSize());
            reader.read(stored.position(), destination, device);
        } catch (IOException e) {
            throw unreadable(stored, e);
        }
        if (isSwapped(stored)) {
            swap(
                    destination,
                    stored.type() == ElementType.C64 ? 4 : stored.type().sizeBytes());
        }
    }

    private static void swap(MemorySegment memory, int elementBytes) {
        ByteBuffer element = ByteBuffer.allocate(elementBytes);
        for (long at = 0; at < memory.byteSize(); at += elementBytes) {
            MemorySegment part = memory.asSlice(at, elementBytes);
            for (int i = 0; i < elementBytes; i++) {
                element.put(elementBytes - 1 - i, part.get(ValueLayout.JAVA_BYTE, i));
            }
            MemorySegment.copy(MemorySegment.ofArray(element.array()), 0, part, 0, elementBytes);
        }
    }

    /** Ends the mapping. Tensors of {@link #map} must not be used afterwards. */
    @Override
    public void close() {
        arena.close();
        try {
            reader.close();
        } catch (IOException e) {
            throw notClosed(e);
        }
    }

    private static void close(@Nullable FileChannel channel) {
        if (channel != null) {
            try {
                channel.close();
            } catch (IOException e) {
                throw notClosed(e);
            }
        }
    }

    private static CheckpointException notClosed(IOException e) {
        return new CheckpointException("cannot close a checkpoint file: " + e, e);
    }
}
