package io.jrun.train.checkpoint;

import io.jrun.train.Libtorch;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Reads and writes safetensors files: named tensors plus text metadata. Files are byte-equal to the reference writer's
 * for the same content. Source: https://github.com/huggingface/safetensors, README "Format" and {@code tensor.rs}.
 */
public final class Safetensors {
    /** One write call per this many bytes: a channel may copy through a direct buffer of the call's size. */
    private static final long WRITE_CHUNK_BYTES = 4 << 20;

    private Safetensors() {}

    /**
     * What a file holds.
     *
     * @param tensors in the order of the file, each with memory of its own
     */
    public record Content(Map<String, Tensor> tensors, Map<String, String> metadata) {}

    /**
     * Writes a file, replacing an earlier one in a single step.
     *
     * @param tensors any layout on the CPU; written row-major
     * @throws CheckpointException if a tensor is not on the CPU, if its type has no name in the format, or if the file cannot
     *     be written
     */
    public static void write(Path file, Map<String, Tensor> tensors, Map<String, String> metadata) {
        Libtorch.load();
        List<TensorEntry> entries = layOut(tensors);
        byte[] header = new SafetensorsHeader(metadata, entries).encode();
        if (header.length > SafetensorsHeader.MAX_BYTES) {
            throw new CheckpointException(file + ": the header would have " + header.length
                    + " bytes, the format allows " + SafetensorsHeader.MAX_BYTES + ". Put fewer tensors in one file.");
        }
        try {
            AtomicFile.write(file, channel -> {
                ByteBuffer length = ByteBuffer.allocate(SafetensorsHeader.LENGTH_BYTES)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putLong(0, header.length);
                writeAll(channel, length);
                writeAll(channel, ByteBuffer.wrap(header));
                for (TensorEntry entry : entries) {
                    writeTensor(channel, Objects.requireNonNull(tensors.get(entry.name())));
                }
            });
        } catch (IOException e) {
            throw new CheckpointException("cannot write " + file + ": " + e, e);
        }
    }

    /**
     * Reads a whole file.
     *
     * @throws CheckpointException if it cannot be read or breaks a rule of the format; the message says which
     */
    public static Content read(Path file) {
        Libtorch.load();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
                Arena arena = Arena.ofConfined()) {
            SafetensorsHeader header = readHeader(file, channel);
            long dataStart = channel.size() - header.dataBytes();
            MemorySegment data = header.dataBytes() == 0
                    ? MemorySegment.NULL
                    : channel.map(MapMode.READ_ONLY, dataStart, header.dataBytes(), arena);
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            for (TensorEntry entry : header.entries()) {
                tensors.put(entry.name(), copy(entry, data));
            }
            return new Content(tensors, header.metadata());
        } catch (IOException e) {
            throw new CheckpointException("cannot read " + file + ": " + e, e);
        }
    }

    /**
     * Reads what a file says about itself in text, and checks its header, but reads no tensor.
     *
     * @throws CheckpointException as {@link #read}
     */
    public static Map<String, String> readMetadata(Path file) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            return readHeader(file, channel).metadata();
        } catch (IOException e) {
            throw new CheckpointException("cannot read " + file + ": " + e, e);
        }
    }

    private static SafetensorsHeader readHeader(Path file, FileChannel channel) throws IOException {
        long fileBytes = channel.size();
        if (fileBytes < SafetensorsHeader.LENGTH_BYTES) {
            throw malformed(file, "it has " + fileBytes + " bytes, but the header length alone takes 8");
        }
        ByteBuffer length =
                readFully(channel, 0, SafetensorsHeader.LENGTH_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        long headerBytes = length.getLong(0);
        if (headerBytes < 0 || headerBytes > SafetensorsHeader.MAX_BYTES) {
            throw malformed(
                    file,
                    "it claims a header of " + Long.toUnsignedString(headerBytes) + " bytes, the format allows "
                            + SafetensorsHeader.MAX_BYTES);
        }
        if (headerBytes > fileBytes - SafetensorsHeader.LENGTH_BYTES) {
            throw malformed(
                    file,
                    "it claims a header of " + headerBytes + " bytes, but has " + fileBytes
                            + " bytes in all; it is truncated or of another format");
        }
        ByteBuffer header = readFully(channel, SafetensorsHeader.LENGTH_BYTES, Math.toIntExact(headerBytes));
        try {
            String json = StandardCharsets.UTF_8.newDecoder().decode(header).toString();
            return SafetensorsHeader.decode(json, fileBytes - SafetensorsHeader.LENGTH_BYTES - headerBytes);
        } catch (CharacterCodingException e) {
            throw malformed(file, "its header is not UTF-8");
        } catch (IllegalArgumentException e) {
            throw malformed(file, String.valueOf(e.getMessage()));
        }
    }

    private static List<TensorEntry> layOut(Map<String, Tensor> tensors) {
        List<TensorEntry> unplaced = new ArrayList<>();
        tensors.forEach((name, tensor) -> {
            if (!tensor.is_cpu()) {
                throw new CheckpointException("tensor '" + name + "' is on the device " + TensorMemory.device(tensor)
                        + ". Save tensor.cpu() instead.");
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

    private static void writeTensor(FileChannel channel, Tensor tensor) throws IOException {
        try (NoGradGuard _ = new NoGradGuard();
                Tensor rowMajor = tensor.contiguous()) {
            MemorySegment bytes = TensorMemory.segment(rowMajor);
            for (long at = 0; at < bytes.byteSize(); at += WRITE_CHUNK_BYTES) {
                long count = Math.min(WRITE_CHUNK_BYTES, bytes.byteSize() - at);
                writeAll(channel, bytes.asSlice(at, count).asByteBuffer());
            }
        }
    }

    /** The file aligns nothing beyond its header, so the elements move to memory of torch's own. */
    private static Tensor copy(TensorEntry entry, MemorySegment data) {
        Tensor tensor =
                torch.empty(entry.sizes(), new TensorOptions(entry.type().torch()), new MemoryFormatOptional());
        MemorySegment.copy(data, entry.beginBytes(), TensorMemory.segment(tensor), 0, entry.sizeBytes());
        return tensor;
    }

    private static void writeAll(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            int _ = channel.write(bytes);
        }
    }

    private static ByteBuffer readFully(FileChannel channel, long position, int count) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(count);
        while (bytes.hasRemaining()) {
            if (channel.read(bytes, position + bytes.position()) < 0) {
                throw new IOException("the file became shorter while it was read");
            }
        }
        return bytes.flip();
    }

    private static CheckpointException malformed(Path file, String why) {
        return new CheckpointException(file + " is not a valid safetensors file: " + why + ".");
    }
}
