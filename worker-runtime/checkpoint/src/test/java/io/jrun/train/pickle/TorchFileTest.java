package io.jrun.train.pickle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.TensorFile;
import io.jrun.train.tensor.TensorMemory;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The files in the resources are torch's own; make.py beside them made them. */
class TorchFileTest {
    private static final int HOSTILE = Boolean.getBoolean("jrun.soak") ? 2_000 : 100;

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.load();
    }

    @Test
    void readsEveryElementType() throws IOException {
        try (TensorFile file = TorchFile.open(resource("types.pth"))) {
            assertThat(file.names()).hasSize(19);
            for (String name : file.names()) {
                Tensor expected = torch.arange(new Scalar(3)).to(ScalarType.Float);
                if (name.equals("bool")) {
                    expected = expected.ne(new Scalar(0)).to(ScalarType.Float);
                }
                String type =
                        file.stored(name).type().torch().intern().toString().toLowerCase(Locale.ROOT);
                Tensor read = file.map(name);
                assertThat(type).isEqualTo(libtorchName(name));
                Tensor values = name.startsWith("complex") ? torch.real(read) : read;
                // float8_e8m0fnu has powers of two only: 0 became 2^-127.
                assertThat(values.to(ScalarType.Float).allclose(expected, 0, 1e-30, false))
                        .as(name)
                        .isTrue();
            }
        }
    }

    private static String libtorchName(String torch) {
        return switch (torch) {
            case "float32" -> "float";
            case "float64" -> "double";
            case "float16" -> "half";
            case "int64" -> "long";
            case "int32" -> "int";
            case "int16" -> "short";
            case "int8" -> "char";
            case "uint8" -> "byte";
            case "complex64" -> "complexfloat";
            default -> torch;
        };
    }

    @Test
    void readsAStateDictionaryWithViewsAndSharedStorages() throws IOException {
        try (TensorFile file = TorchFile.open(resource("state.pth"))) {
            Tensor ramp = torch.arange(new Scalar(6)).to(ScalarType.Float).view(2, 3);
            Map<String, Tensor> expected = new LinkedHashMap<>();
            expected.put("weight", ramp);
            expected.put("bias", Tensor.create(new float[] {0.5f, -0.5f}, 2));
            expected.put("transposed", ramp.t());
            expected.put("shared.row", ramp.select(0, 1));
            expected.put("scalar", torch.scalar_tensor(new Scalar(7L)).to(ScalarType.Long));
            expected.put("empty", torch.zeros(0, 4));
            expected.put("parameter", torch.ones(2));
            assertThat(file.names()).containsExactlyInAnyOrderElementsOf(expected.keySet());
            expected.forEach((name, tensor) -> {
                assertThat(file.map(name).equal(tensor)).as("map " + name).isTrue();
                assertThat(file.load(name).equal(tensor)).as("load " + name).isTrue();
                Tensor destination = torch.empty_like(tensor).contiguous();
                file.read(name, destination);
                assertThat(destination.equal(tensor)).as("read " + name).isTrue();
            });
            assertThat(TensorMemory.address(file.map("shared.row")))
                    .isEqualTo(TensorMemory.address(file.map("transposed")) + 3 * Float.BYTES);
        }
    }

    @ParameterizedTest
    @CsvSource({"nested.pth", "protocol4.pth"})
    void readsNestedValuesUnderDottedNames(String name) throws IOException {
        try (TensorFile file = TorchFile.open(resource(name))) {
            assertThat(file.names()).containsExactlyInAnyOrder("model.weight", "model.bias", "list.0");
            assertThat(file.metadata())
                    .containsEntry("epoch", "3")
                    .containsEntry("lr", "0.5")
                    .containsEntry("name", "net")
                    .containsEntry("none", "None")
                    .containsEntry("flag", "true")
                    .containsEntry("seed", "9223372036854775808")
                    .containsEntry("negative", "-2")
                    .containsEntry("size.1", "3")
                    .containsEntry("betas.0", "0.9");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "evil.pth   | the file refers to 'posix.system' under the key 'evil'. jrun reads tensors, numbers, strings, dicts, tuples, lists and sets only, and executes nothing. Save the file without this key, or save model.state_dict() alone",
                "object.pth | the file refers to 'torch.nn.modules.linear.Linear'",
                "legacy.pth | the file has the format of torch before 1.6. Convert the file with torch: torch.save(",
                "scripted.pth | the file is a TorchScript archive"
            })
    void refusesEverythingButDataAndSaysWhatToDo(String name, String message) throws IOException {
        assertThatThrownBy(() -> TorchFile.open(resource(name)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(name)
                .hasMessageContaining(message);
        assertThat(Path.of("EXECUTED")).doesNotExist();
    }

    /** A training loop's values and objects: none of them is made, and none of them hides the weights. */
    @Test
    void readsTheWeightsBesideValuesAndObjects() throws IOException {
        Tensor ramp = torch.arange(new Scalar(6)).to(ScalarType.Float).view(2, 3);
        try (TensorFile file = TorchFile.open(resource("training.pth"))) {
            assertThat(file.names())
                    .containsExactlyInAnyOrder("model.weight", "model.parameter", "model.tagged", "keys.#0");
            assertThat(file.map("model.weight").equal(ramp)).isTrue();
            assertThat(file.map("model.tagged").equal(torch.ones(2))).isTrue();
            assertThat(file.map("keys.#0").equal(ramp.select(0, 0))).isTrue();
            assertThat(file.metadata())
                    .containsEntry("device", "cuda:1")
                    .containsEntry("seen.1", "2")
                    .containsEntry("frozen.0", "3")
                    .containsEntry("history.train.0", "0.5")
                    .containsEntry("counts.a", "2")
                    .containsEntry("when", "datetime.datetime")
                    .containsEntry("loss", "numpy.core.multiarray.scalar");
            assertThat(file.objects())
                    .containsOnly(
                            Map.entry("options", "argparse.Namespace"),
                            Map.entry("dtype", "torch.complex128"),
                            Map.entry("wide", "torch.ComplexDoubleStorage"),
                            Map.entry("sparse", "torch._utils._rebuild_sparse_tensor"));
        }
    }

    /** Parameters with attributes, as newer versions of torch write them. */
    @Test
    void readsParametersWithState() throws IOException {
        Map<String, byte[]> entries = entries("training.pth");
        String pickle = root(entries) + "/data.pkl";
        String text = new String(Objects.requireNonNull(entries.get(pickle)), StandardCharsets.ISO_8859_1);
        entries.put(
                pickle,
                text.replace("_rebuild_parameter\n", "_rebuild_parameter_with_state\n")
                        .getBytes(StandardCharsets.ISO_8859_1));
        try (TensorFile file = TorchFile.open(zip("newer.pth", entries))) {
            assertThat(file.map("model.parameter").equal(torch.ones(2))).isTrue();
        }
    }

    /** Two entries of one name: readers would disagree on the weights. */
    @Test
    void anEntryThatOccursTwiceIsRefused() throws IOException {
        Map<String, byte[]> entries = entries("state.pth");
        String root = root(entries);
        entries.put(root + "/data/X", Objects.requireNonNull(entries.get(root + "/data/0")));
        Path file = zip("twice.pth", entries);
        String bytes = Files.readString(file, StandardCharsets.ISO_8859_1);
        Files.writeString(file, bytes.replace(root + "/data/X", root + "/data/0"), StandardCharsets.ISO_8859_1);
        assertThatThrownBy(() -> TorchFile.open(file))
                .hasMessageContaining("the entry '" + root + "/data/0' occurs twice");
    }

    @Test
    void readsBigEndianFiles() throws IOException {
        Map<String, byte[]> entries = entries("state.pth");
        String root = root(entries);
        entries.put(root + "/byteorder", "big".getBytes(StandardCharsets.US_ASCII));
        for (int storage = 0; storage < 6; storage++) {
            byte[] data = Objects.requireNonNull(entries.get(root + "/data/" + storage));
            // The storage of 8 bytes with the value 7 is the scalar of type int64; all others are float32.
            swap(
                    data,
                    data.length == 8
                                    && ByteBuffer.wrap(data)
                                                    .order(ByteOrder.LITTLE_ENDIAN)
                                                    .getLong(0)
                                            == 7
                            ? 8
                            : 4);
        }
        Path file = zip("big.pth", entries);
        try (TensorFile big = TorchFile.open(file);
                TensorFile little = TorchFile.open(resource("state.pth"))) {
            for (String name : little.names()) {
                assertThat(big.map(name).equal(little.map(name))).as(name).isTrue();
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "a dict whose value contains itself | 7d71005804000000 73656c66 6800 73 2e | contain themselves",
                "a mark that is missing | 7d 74 2e | no mark on the stack",
                "a recall of nothing | 6805 2e | the pickle has not memorised",
                "an integer as shape | 4b05 2e | -",
                "an early end | 7d7100 | the pickle ends early",
                "a string beyond the file | 58ffffff7f 2e | a string of 2147483647 bytes",
                "a negative string | 58ffffffff 2e | a string of 4294967295 bytes",
                "an instance | 28 63 6f730a 73797374656d0a 69 2e | operation 0x69",
                "an INST operation | 28 69 6f730a 73797374656d0a 2e | operation 0x69",
                "an extension | 8201 2e | operation 0x82",
                "an object without a class | 4b01 29 81 2e | an object without a class",
                "a called result | 7d 580100000077 63610a620a 29 52 29 52 73 2e | refers to 'a.b' under the key 'w'",
                "an object alone | 7d 580100000077 63610a620a 29 81 73 2e | refers to 'a.b' under the key 'w'",
                "a tensor without data | 7d 580100000077 63746f7263682e5f74656e736f720a5f72656275696c645f66726f6d5f747970655f76320a"
                        + " 28 63746f7263682e5f7574696c730a5f72656275696c645f777261707065725f737562636c6173730a 63610a620a 29 74 52 73 2e"
                        + " | refers to 'torch._utils._rebuild_wrapper_subclass' under the key 'w'",
                "a conjugate view | 7d 580100000077 63746f7263682e5f7574696c730a5f72656275696c645f74656e736f725f76320a"
                        + " 28 28 580700000073746f72616765 63746f7263680a436f6d706c6578466c6f617453746f726167650a 580100000030"
                        + " 5803000000637075 4b02 74 51 4b00 4b02 85 4b01 85 89 7d 7d 5804000000636f6e6a 88 73 74 52 73 2e"
                        + " | refers to 'a conjugate or negative view' under the key 'w'",
                "calls in calls | 7d 580100000077 63746f7263682e5f74656e736f720a5f72656275696c645f66726f6d5f747970655f76320a 7100"
                        + " 28 6800 63610a620a 29 74 52 73 2e | a tensor without a function",
                "a called type | 63 746f7263680a 466c6f617453746f726167650a 29 52 2e | calls an element type",
                "arguments of an OrderedDict | 63636f6c6c656374696f6e730a4f726465726564446963740a 4b01 85 52 2e | with arguments",
                "a persistent id that is not a storage | 4b01 85 51 2e | a persistent id that is not a storage",
                "a key that is a tuple | 7d 29 4b01 73 2e | -",
                "BUILD on a list | 5d 7d 62 2e | in place of a Dictionary",
                "protocol 9 | 8009 2e | protocol 9",
                "invalid UTF-8 | 5801000000ff 2e | not UTF-8"
            })
    void eachBrokenRuleOfThePickleHasItsOwnError(String what, String hex, String message) throws IOException {
        byte[] pickle = HexFormat.of().parseHex(hex.replace(" ", ""));
        Path file = zip("bad.pth", Map.of("m/data.pkl", pickle));
        if (message.equals("-")) {
            TorchFile.open(file).close();
        } else {
            assertThatThrownBy(() -> TorchFile.open(file))
                    .as(what)
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("bad.pth is not a valid torch.save file: ")
                    .hasMessageContaining(message);
        }
    }

    @Test
    void fewBytesCannotStandForManyNames() throws IOException {
        // Each of 40 lists has the list before it twice: 2^40 numbers in 250 bytes.
        ByteArrayOutputStream pickle = new ByteArrayOutputStream();
        pickle.writeBytes(new byte[] {']', 'q', 0, 'K', 1, 'a'});
        for (int i = 1; i <= 40; i++) {
            byte before = (byte) (i - 1);
            pickle.writeBytes(new byte[] {']', 'q', (byte) i, 'h', before, 'a', 'h', before, 'a'});
        }
        pickle.write('.');
        Path file = zip("bomb.pth", Map.of("m/data.pkl", pickle.toByteArray()));
        assertThatThrownBy(() -> TorchFile.open(file))
                .hasMessageContaining("contain themselves, or are nested too deep");
    }

    @Test
    void aCompressedEntryIsRefused() throws IOException {
        Path file = folder.resolve("deflated.pth");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
            zip.putNextEntry(new ZipEntry("m/data.pkl"));
            zip.write(new byte[1000]);
        }
        assertThatThrownBy(() -> TorchFile.open(file)).hasMessageContaining("'m/data.pkl' is compressed");
    }

    @Test
    void aTensorOutsideItsStorageIsRefused() throws IOException {
        Map<String, byte[]> entries = entries("state.pth");
        String root = root(entries);
        entries.put(root + "/data/0", new byte[20]);
        Path file = zip("short.pth", entries);
        assertThatThrownBy(() -> TorchFile.open(file))
                .hasMessageContaining("tensor 'weight' needs 24 bytes of a storage that has 20");
        entries.remove(root + "/data/0");
        Path missing = zip("missing.pth", entries);
        assertThatThrownBy(() -> TorchFile.open(missing))
                .hasMessageContaining("the file lacks the entry '" + root + "/data/0'");
    }

    /**
     * Mutations of torch's own files: each opens, or fails with one line; the memory stays within the size of the file.
     */
    @Test
    void hostileFilesEndInOneLine() throws IOException {
        long seed = Long.getLong("jrun.test.seed", 1);
        Random random = new Random(seed);
        List<byte[]> originals = new ArrayList<>();
        for (String name : List.of("state.pth", "nested.pth", "protocol4.pth", "types.pth")) {
            originals.add(Files.readAllBytes(resource(name)));
        }
        int refused = 0;
        for (int i = 0; i < HOSTILE; i++) {
            byte[] bytes = mutate(originals.get(random.nextInt(originals.size())), random);
            Path file = Files.write(folder.resolve("hostile.pth"), bytes);
            long before = allocated();
            try (TensorFile opened = TorchFile.open(file)) {
                for (String name : opened.names()) {
                    assertThat(opened.stored(name).sizeBytes()).isLessThanOrEqualTo(bytes.length);
                    opened.load(name).close();
                }
            } catch (CheckpointException e) {
                refused++;
                assertThat(e.getMessage())
                        .as("seed %d, file %d", seed, i)
                        .doesNotContain("\n")
                        .contains("hostile.pth")
                        .hasSizeLessThan(2_000);
            }
            assertThat(allocated() - before)
                    .as("seed %d, file %d: bytes of the heap", seed, i)
                    .isLessThan(16L << 20);
        }
        assertThat(refused).isGreaterThan(HOSTILE / 10);
    }

    private static String root(Map<String, byte[]> entries) {
        String first = entries.keySet().iterator().next();
        return first.substring(0, first.indexOf('/'));
    }

    private static long allocated() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean())
                .getThreadAllocatedBytes(Thread.currentThread().threadId());
    }

    private static byte[] mutate(byte[] original, Random random) {
        byte[] bytes = original.clone();
        switch (random.nextInt(4)) {
            case 0 -> {
                int count = 1 + random.nextInt(8);
                for (int i = 0; i < count; i++) {
                    bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
                }
            }
            case 1 -> bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length));
            case 2 -> ByteBuffer.wrap(bytes).putInt(random.nextInt(bytes.length - 4), random.nextInt());
            default -> {
                // The pickle lies at the beginning: most of its bytes mean something.
                for (int i = 0; i < 3; i++) {
                    bytes[64 + random.nextInt(700)] = (byte) random.nextInt(256);
                }
            }
        }
        return bytes;
    }

    private static void swap(byte[] data, int size) {
        for (int at = 0; at + size <= data.length; at += size) {
            for (int i = 0; i < size / 2; i++) {
                byte kept = data[at + i];
                data[at + i] = data[at + size - 1 - i];
                data[at + size - 1 - i] = kept;
            }
        }
    }

    private Map<String, byte[]> entries(String name) throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        try (ZipFile zip = new ZipFile(resource(name).toFile())) {
            for (ZipEntry entry : Collections.list(zip.entries())) {
                entries.put(entry.getName(), zip.getInputStream(entry).readAllBytes());
            }
        }
        return entries;
    }

    private Path zip(String name, Map<String, byte[]> entries) throws IOException {
        Path file = folder.resolve(name);
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
            for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
                ZipEntry header = new ZipEntry(entry.getKey());
                CRC32 crc = new CRC32();
                crc.update(entry.getValue());
                header.setMethod(ZipEntry.STORED);
                header.setSize(entry.getValue().length);
                header.setCrc(crc.getValue());
                zip.putNextEntry(header);
                zip.write(entry.getValue());
            }
        }
        return file;
    }

    private Path resource(String name) throws IOException {
        Path copy = folder.resolve(name);
        try (InputStream in = Objects.requireNonNull(TorchFileTest.class.getResourceAsStream(name))) {
            Files.write(copy, in.readAllBytes());
        }
        return copy;
    }
}
