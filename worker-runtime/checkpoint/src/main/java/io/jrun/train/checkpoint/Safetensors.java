package io.jrun.train.checkpoint;

import io.jrun.comm.Device;
import io.jrun.comm.file.FileError;
import io.jrun.train.Libtorch;
import io.jrun.train.storage.AtomicFile;
import io.jrun.train.storage.FileObjectReader;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Reads and writes safetensors files: named tensors plus text metadata. For the same content, the files equal the
 * reference writer's files byte for byte. Source: https://github.com/huggingface/safetensors, README "Format" and
 * {@code tensor.rs}.
 */
public final class Safetensors {
    /** Bytes of one write call: a channel may copy through a direct buffer of the size of the call. */
    private static final long WRITE_CHUNK_BYTES = 4 << 20;

    /** The reference writer's. */
    private static final int HEADER_ALIGNMENT = 8;

    private Safetensors() {}

    /**
     * The content of a file.
     *
     * @param tensors in the order of the file, each with memory of its own
     */
    public record Content(Map<String, Tensor> tensors, Map<String, String> metadata) {}

    /** Takes the bytes of a file from the first to the last. */
    @FunctionalInterface
    public interface Sink {
        /** Takes all remaining bytes. */
        void write(ByteBuffer bytes) throws IOException;
    }

    /**
     * Writes a file. One rename replaces an earlier file.
     *
     * @param tensors tensors of any layout and device; the file has the tensors in row-major order
     * @throws CheckpointException if a tensor has no elements in memory, if its type has no name in the format, or if the file
     *     cannot be written
     */
    public static void write(Path file, Map<String, Tensor> tensors, Map<String, String> metadata) {
        try {
            AtomicFile.write(file, content(tensors, metadata));
        } catch (IOException e) {
            throw new CheckpointException("cannot write " + file + ": " + FileError.reason(e, file), e);
        }
    }

    static AtomicFile.Content content(Map<String, Tensor> tensors, Map<String, String> metadata) {
        return channel -> write(bytes -> writeAll(channel, bytes), tensors, metadata, HEADER_ALIGNMENT);
    }

    /**
     * Writes the bytes of a file.
     *
     * @param tensors any layout and device; written row-major; of a contiguous tensor of another device a few MiB are on the
     *     host at a time, else one tensor
     * @param alignment the first tensor begins at a multiple of this number of bytes: a multiple of 8
     * @return where the tensors lie in the file, in the order of the file
     * @throws CheckpointException if a tensor has no elements in memory, or if its type has no name in the format
     */
    public static List<StoredTensor> write(
            Sink sink, Map<String, Tensor> tensors, Map<String, String> metadata, int alignment) throws IOException {
        Libtorch.load();
        List<TensorEntry> entries = layOut(tensors);
        byte[] header = new SafetensorsHeader(metadata, entries).encode(alignment);
        if (header.length > SafetensorsHeader.MAX_BYTES) {
            throw new CheckpointException("the header of a safetensors file would have " + header.length
                    + " bytes, the format allows " + SafetensorsHeader.MAX_BYTES + ". Put fewer tensors in one file.");
        }
        ByteBuffer length = ByteBuffer.allocate(SafetensorsHeader.LENGTH_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(0, header.length);
        sink.write(length);
        sink.write(ByteBuffer.wrap(header));
        try (DevicePieces ofDevices = new DevicePieces()) {
            for (TensorEntry entry : entries) {
                writeTensor(sink, Objects.requireNonNull(tensors.get(entry.name())), ofDevices);
            }
        }
        return stored(entries, SafetensorsHeader.LENGTH_BYTES + header.length);
    }

    /**
     * Opens a file for reading.
     *
     * @throws CheckpointException if the file cannot be read or breaks a rule of the format; the message names the rule
     */
    public static TensorFile open(Path file) {
        return TensorFile.open(file, "safetensors", Safetensors::describe);
    }

    /**
     * Reads a whole file.
     *
     * @throws CheckpointException like {@link #open}
     */
    public static Content read(Path file) {
        try (TensorFile source = open(file)) {
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            source.names().forEach(name -> tensors.put(name, source.load(name)));
            return new Content(tensors, source.metadata());
        }
    }

    private static TensorFile.Content describe(FileChannel channel) throws IOException {
        long fileBytes = channel.size();
        if (fileBytes < SafetensorsHeader.LENGTH_BYTES) {
            throw new IllegalArgumentException("the file has " + fileBytes + " bytes; the header length takes 8");
        }
        ByteBuffer length = read(channel, 0, SafetensorsHeader.LENGTH_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        long headerBytes = length.getLong(0);
        if (headerBytes < 0 || headerBytes > SafetensorsHeader.MAX_BYTES) {
            throw new IllegalArgumentException("the file claims a header of " + Long.toUnsignedString(headerBytes)
                    + " bytes, the format allows " + SafetensorsHeader.MAX_BYTES);
        }
        long dataStart = SafetensorsHeader.LENGTH_BYTES + headerBytes;
        if (dataStart > fileBytes) {
            throw new IllegalArgumentException("the file claims a header of " + headerBytes + " bytes, but has "
                    + fileBytes + " bytes in all; the file is truncated or of another format");
        }
        ByteBuffer header = read(channel, SafetensorsHeader.LENGTH_BYTES, Math.toIntExact(headerBytes));
        SafetensorsHeader decoded = SafetensorsHeader.decode(text(header), fileBytes - dataStart);
        return new TensorFile.Content(
                stored(decoded.entries(), dataStart), decoded.metadata(), Map.of(), ByteOrder.LITTLE_ENDIAN);
    }

    private static List<StoredTensor> stored(List<TensorEntry> entries, long dataStart) {
        return entries.stream()
                .map(entry -> StoredTensor.rowMajor(
                        entry.name(), entry.type(), entry.shape(), dataStart + entry.beginBytes()))
                .toList();
    }

    private static String text(ByteBuffer header) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(header).toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("the header is not UTF-8", e);
        }
    }

    private static ByteBuffer read(FileChannel channel, long position, int count) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(count);
        FileObjectReader.readFully(channel, position, bytes);
        return bytes.flip();
    }

    private static List<TensorEntry> layOut(Map<String, Tensor> tensors) {
        List<TensorEntry> unplaced = new ArrayList<>();
        tensors.forEach((name, tensor) -> {
            if (tensor.is_meta()) {
                throw new CheckpointException(
                        "tensor '" + name + "' is on the device meta: it has no elements that could be saved");
            }
            ElementType type = ElementType.of(tensor.scalar_type())
                    .orElseThrow(() -> new CheckpointException("tensor '" + name + "' has element type "
                            + tensor.scalar_type().intern() + ", which cannot be saved"));
            List<Long> shape = Arrays.stream(TensorMemory.sizes(tensor)).boxed().toList();
            unplaced.add(new TensorEntry(name, type, shape, 0, tensor.numel() * type.sizeBytes()));
        });
        unplaced.sort(Comparator.comparing(TensorEntry::type, Comparator.reverseOrder())
                .thenComparing(TensorEntry::name));
        List<TensorEntry> placed = new ArrayList<>();
        long at = 0;
        for (TensorEntry entry : unplaced) {
            long end = at + entry.sizeBytes();
            placed.add(new TensorEntry(entry.name(), entry.type(), entry.shape(), at, end));
            at = end;
        }
        return placed;
    }

    private static void writeTensor(Sink sink, Tensor tensor, DevicePieces ofDevices) throws IOException {
        Device device = TensorMemory.device(tensor);
        if (tensor.is_contiguous() && !device.isCpu()) {
            ofDevices.toHost(TensorMemory.elements(tensor), device, (_, onHost) -> sink.write(onHost.asByteBuffer()));
            return;
        }
        try (NoGradGuard _ = new NoGradGuard();
                Tensor onHost = DeviceWaits.onHost(tensor);
                Tensor rowMajor = onHost.contiguous()) {
            MemorySegment bytes = TensorMemory.segment(rowMajor);
            for (long at = 0; at < bytes.byteSize(); at += WRITE_CHUNK_BYTES) {
                long count = Math.min(WRITE_CHUNK_BYTES, bytes.byteSize() - at);
                sink.write(bytes.asSlice(at, count).asByteBuffer());
            }
        }
    }

    private static void writeAll(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            int _ = channel.write(bytes);
        }
    }
}
