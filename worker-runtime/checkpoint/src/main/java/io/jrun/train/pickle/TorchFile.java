package io.jrun.train.pickle;

import io.jrun.train.checkpoint.StoredTensor;
import io.jrun.train.checkpoint.TensorFile;
import io.jrun.train.pickle.PickleValue.Dictionary;
import io.jrun.train.pickle.PickleValue.Foreign;
import io.jrun.train.pickle.PickleValue.PickledTensor;
import io.jrun.train.pickle.PickleValue.Scalar;
import io.jrun.train.pickle.PickleValue.Sequence;
import io.jrun.train.pickle.PickleValue.Tuple;
import io.jrun.train.storage.FileObjectReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Opens files of {@code torch.save} from torch 1.6 (2020) on: a zip file with a pickle and one entry for each storage.
 * Tensors in nested dictionaries, lists and tuples get dotted names: {@code model.layer.weight}, {@code list.0}.
 * Numbers, strings and truth values become {@link TensorFile#metadata()}, objects {@link TensorFile#objects()}. The CRC of entries is not checked.
 */
public final class TorchFile {
    private static final String PICKLE = "data.pkl";
    private static final int MAX_PICKLE_BYTES = 1 << 28;
    private static final int MAX_DEPTH = 64;
    /**
     * The limit of the characters of all names is this factor times the bytes of the pickle. Parameters of an optimizer
     * need a factor of about 15.
     */
    private static final int NAME_FACTOR = 32;
    /** A pickle of protocol 2 that begins with the magic number of torch's format before 1.6. */
    private static final byte[] LEGACY = {
        (byte) 0x80,
        2,
        (byte) 0x8a,
        10,
        0x6c,
        (byte) 0xfc,
        (byte) 0x9c,
        0x46,
        (byte) 0xf9,
        0x20,
        0x6a,
        (byte) 0xa8,
        0x50,
        0x19
    };

    private final Map<String, ZipIndex.Entry> entries;
    private final String prefix;
    private final Map<String, StoredTensor> tensors = new LinkedHashMap<>();
    private final Map<String, String> metadata = new LinkedHashMap<>();
    private final Map<String, String> objects = new LinkedHashMap<>();
    private long charactersLeft;

    private TorchFile(Map<String, ZipIndex.Entry> entries, String prefix, long pickleBytes) {
        this.entries = entries;
        this.prefix = prefix;
        this.charactersLeft = NAME_FACTOR * pickleBytes;
    }

    /**
     * Opens a file for reading.
     *
     * @throws io.jrun.train.checkpoint.CheckpointException if the file cannot be read, is malformed, or contains
     *     objects other than data; the message is one line
     */
    public static TensorFile open(Path file) {
        return TensorFile.open(file, "torch.save", TorchFile::describe);
    }

    private static TensorFile.Content describe(FileChannel channel) throws IOException {
        refuseLegacy(channel);
        Map<String, ZipIndex.Entry> entries = ZipIndex.read(channel);
        List<String> pickles = entries.keySet().stream()
                .filter(name -> name.equals(PICKLE) || name.endsWith("/" + PICKLE))
                .toList();
        if (pickles.size() != 1) {
            throw new IllegalArgumentException("the file has " + pickles.size() + " entries data.pkl, expected one");
        }
        String pickle = pickles.getFirst();
        String prefix = pickle.substring(0, pickle.length() - PICKLE.length());
        if (entries.containsKey(prefix + "constants.pkl")) {
            throw new IllegalArgumentException("the file is a TorchScript archive. Save its tensors instead:"
                    + " torch.save(torch.jit.load(FILE).state_dict(), OUT)");
        }
        byte[] content = bytes(channel, require(entries, pickle), MAX_PICKLE_BYTES);
        TorchFile file = new TorchFile(entries, prefix, content.length);
        file.visit("", Unpickler.read(content), 0);
        if (file.tensors.isEmpty() && !file.objects.isEmpty()) {
            Map.Entry<String, String> first = file.objects.entrySet().iterator().next();
            throw refers(first.getValue(), first.getKey());
        }
        List<StoredTensor> inOrder = file.tensors.values().stream()
                .sorted(Comparator.comparingLong(StoredTensor::position))
                .toList();
        return new TensorFile.Content(inOrder, file.metadata, file.objects, file.order(channel));
    }

    private static void refuseLegacy(FileChannel channel) throws IOException {
        ByteBuffer begin = ByteBuffer.allocate((int) Math.min(LEGACY.length, channel.size()));
        FileObjectReader.readFully(channel, 0, begin);
        if (begin.flip().equals(ByteBuffer.wrap(LEGACY))) {
            throw new IllegalArgumentException("the file has the format of torch before 1.6."
                    + " Convert the file with torch:"
                    + " torch.save(torch.load(FILE, weights_only=True), OUT)");
        }
    }

    private ByteOrder order(FileChannel channel) throws IOException {
        ZipIndex.Entry entry = entries.get(prefix + "byteorder");
        String order = entry == null ? "little" : new String(bytes(channel, entry, 16), StandardCharsets.US_ASCII);
        return switch (order) {
            case "little" -> ByteOrder.LITTLE_ENDIAN;
            case "big" -> ByteOrder.BIG_ENDIAN;
            default -> throw new IllegalArgumentException("the byte order is '" + order + "', expected little or big");
        };
    }

    /**
     * Adds the tensors of a value. Values may be shared, so few bytes can describe many names. The size of the pickle
     * therefore limits the names.
     */
    private void visit(String name, PickleValue value, int depth) {
        charactersLeft -= 1 + name.length();
        if (depth > MAX_DEPTH || charactersLeft < 0) {
            throw new IllegalArgumentException("the values contain themselves, or are nested too deep");
        }
        switch (value) {
            case PickledTensor tensor -> {
                if (tensors.put(name, place(name, tensor)) != null) {
                    throw new IllegalArgumentException("the file has two tensors with the name '" + name + "'");
                }
            }
            case Scalar scalar -> metadata.put(name, String.valueOf(scalar.value()));
            case Dictionary dictionary ->
                dictionary.items.forEach((key, item) -> visit(join(name, String.valueOf(key)), item, depth + 1));
            case Sequence sequence -> visitAll(name, sequence.items, depth);
            case Tuple tuple -> visitAll(name, tuple.items(), depth);
            case Foreign(String made, Foreign.Kind kind) -> visitForeign(name, made, kind);
            case PickleValue.Unknown(String type) -> visitForeign(name, type, Foreign.Kind.OBJECT);
            case PickleValue.Global _, PickleValue.Storage _, PickleValue.Mark _ -> {}
        }
    }

    private void visitForeign(String name, String made, Foreign.Kind kind) {
        if (name.isEmpty() || kind == Foreign.Kind.REFUSED) {
            throw refers(made, name);
        }
        (kind == Foreign.Kind.OBJECT ? objects : metadata).put(name, made);
    }

    private static IllegalArgumentException refers(String made, String key) {
        return new IllegalArgumentException("the file refers to '" + made + "'"
                + (key.isEmpty() ? "" : " under the key '" + key + "'")
                + ". jrun reads tensors, numbers, strings, dicts, tuples, lists and sets only, and executes nothing. "
                + (key.isEmpty()
                        ? "Save model.state_dict() instead of the object"
                        : "Save the file without this key, or save model.state_dict() alone"));
    }

    private void visitAll(String name, List<PickleValue> items, int depth) {
        for (int i = 0; i < items.size(); i++) {
            visit(join(name, String.valueOf(i)), items.get(i), depth + 1);
        }
    }

    private static String join(String name, String key) {
        return name.isEmpty() ? key : name + "." + key;
    }

    private StoredTensor place(String name, PickledTensor tensor) {
        ZipIndex.Entry storage =
                require(entries, prefix + "data/" + tensor.storage().key());
        int elementBytes = tensor.type().sizeBytes();
        if (tensor.offset() < 0 || tensor.offset() > storage.bytes() / elementBytes) {
            throw new IllegalArgumentException("tensor '" + name + "' begins at element " + tensor.offset()
                    + " of a storage of " + storage.bytes() + " bytes");
        }
        long begin = tensor.offset() * elementBytes;
        StoredTensor stored =
                new StoredTensor(name, tensor.type(), tensor.shape(), tensor.strides(), storage.position() + begin);
        if (stored.spanBytes() > storage.bytes() - begin) {
            throw new IllegalArgumentException("tensor '" + name + "' needs " + stored.spanBytes()
                    + " bytes of a storage that has " + (storage.bytes() - begin) + " bytes after the begin of the"
                    + " tensor");
        }
        return stored;
    }

    private static ZipIndex.Entry require(Map<String, ZipIndex.Entry> entries, String name) {
        ZipIndex.Entry entry = entries.get(name);
        if (entry == null) {
            throw new IllegalArgumentException("the file lacks the entry '" + name + "'");
        }
        if (!entry.isStored()) {
            throw new IllegalArgumentException("the entry '" + name
                    + "' is compressed. torch.save does not compress; save the file again with torch.save");
        }
        return entry;
    }

    private static byte[] bytes(FileChannel channel, ZipIndex.Entry entry, int limit) throws IOException {
        if (entry.bytes() > limit) {
            throw new IllegalArgumentException("an entry has " + entry.bytes() + " bytes, expected at most " + limit);
        }
        ByteBuffer bytes = ByteBuffer.allocate((int) entry.bytes());
        FileObjectReader.readFully(channel, entry.position(), bytes);
        return bytes.array();
    }
}
