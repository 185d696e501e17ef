package io.jrun.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class SafetensorsTest {
    /** From the reference implementation, tensor.rs test_serialization. */
    private static final String GOLDEN = "4000000000000000"
            + "7b226174746e2e30223a7b226474797065223a22463332222c227368617065223a5b312c322c335d2c22646174615f6f666673657473"
            + "223a5b302c32345d7d7d" + "000000000000803f0000004000004040000080400000a040";

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.load();
    }

    @Test
    void writesTheReferenceBytes() throws IOException {
        Path file = folder.resolve("golden.safetensors");
        Safetensors.write(file, Map.of("attn.0", Tensor.create(new float[] {0, 1, 2, 3, 4, 5}, 1, 2, 3)), Map.of());
        assertThat(HexFormat.of().formatHex(Files.readAllBytes(file))).isEqualTo(GOLDEN);
    }

    @Test
    void readsTheReferenceBytes() throws IOException {
        Path file =
                Files.write(folder.resolve("golden.safetensors"), HexFormat.of().parseHex(GOLDEN));
        Tensor tensor = Objects.requireNonNull(Safetensors.read(file).tensors().get("attn.0"));
        assertThat(TensorMemory.sizes(tensor)).containsExactly(1, 2, 3);
        float[] values = new float[6];
        tensor.data_ptr_float().get(values);
        assertThat(values).containsExactly(0, 1, 2, 3, 4, 5);
    }

    @Test
    void everyTypeShapeAndMetadataComesBack() {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        for (ElementType type : ElementType.values()) {
            Tensor counted = torch.arange(new Scalar(6)).view(2, 3).to(type.torch());
            tensors.put("t." + type, counted);
        }
        tensors.put("scalar", torch.scalar_tensor(new Scalar(7L), new TensorOptions(torch.ScalarType.Long)));
        tensors.put("empty", torch.zeros(0, 4));
        tensors.put("transposed", torch.arange(new Scalar(6)).view(2, 3).t());
        tensors.put("quote\" and \\ and \u00fc", torch.ones(1));
        Map<String, String> metadata = Map.of("step", "12", "text", "line\nbreak \"q\" \u0001");

        Path file = folder.resolve("all.safetensors");
        Safetensors.write(file, tensors, metadata);
        Safetensors.Content content = Safetensors.read(file);

        assertThat(content.metadata()).isEqualTo(metadata);
        assertThat(content.tensors()).containsOnlyKeys(tensors.keySet());
        tensors.forEach((name, tensor) -> {
            Tensor read = Objects.requireNonNull(content.tensors().get(name));
            assertThat(read.scalar_type().intern())
                    .isEqualTo(tensor.scalar_type().intern());
            assertThat(read.equal(tensor)).as(name).isTrue();
        });
    }

    @Test
    void aMappedTensorIsTheFileItself() throws IOException {
        Path file = folder.resolve("mapped.safetensors");
        Safetensors.write(file, Map.of("x", torch.arange(new Scalar(1 << 20)).to(torch.ScalarType.Float)), Map.of());
        try (TensorFile mapped = Safetensors.open(file)) {
            Tensor x = mapped.map("x");
            assertThat(x.select(0, 12345).item_float()).isEqualTo(12345);
            assertThat(mapped.bytesRead()).isZero();
            // The tensor shows a change of the file: the tensor has no memory of its own.
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                long position = mapped.stored("x").position();
                channel.write(
                        ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putFloat(0, -1), position);
            }
            assertThat(x.select(0, 0).item_float()).isEqualTo(-1);
        }
    }

    @Test
    void aMisalignedTensorIsCopied() throws IOException {
        // The header has 63 bytes: the data begin at byte 71.
        String header = "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
        byte[] bytes = file(header + " ".repeat(63 - header.length()), 8);
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putFloat(71, 3).putFloat(75, 4);
        try (TensorFile mapped = Safetensors.open(Files.write(folder.resolve("odd.safetensors"), bytes))) {
            assertThat(mapped.map("x").equal(Tensor.create(new float[] {3, 4}, 2)))
                    .isTrue();
            assertThat(mapped.bytesRead()).isEqualTo(8);
        }
    }

    @Test
    void readsIntoATensorOfAnotherTypeAndLayout() {
        Path file = folder.resolve("read.safetensors");
        Tensor ramp = torch.arange(new Scalar(6)).to(torch.ScalarType.Float).view(2, 3);
        Safetensors.write(file, Map.of("x", ramp.to(torch.ScalarType.BFloat16)), Map.of());
        try (TensorFile source = Safetensors.open(file)) {
            Tensor transposed = torch.zeros(3, 2).t().requires_grad_(true);
            source.read("x", transposed);
            assertThat(transposed.equal(ramp)).isTrue();
            assertThatThrownBy(() -> source.read("x", torch.zeros(3, 2)))
                    .hasMessageContaining("tensor 'x' is BF16[2, 3] in ")
                    .hasMessageContaining("but Float[3, 2] in the program");
            assertThatThrownBy(() -> source.read("y", torch.zeros(1))).hasMessageContaining("lacks tensor 'y'");
        }
    }

    @Test
    void leavesNothingBesideTheFile() throws IOException {
        Safetensors.write(folder.resolve("a.safetensors"), Map.of("x", torch.ones(3)), Map.of());
        Safetensors.write(folder.resolve("a.safetensors"), Map.of("y", torch.ones(4)), Map.of());
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files.map(file -> file.getFileName().toString())).containsExactly("a.safetensors");
        }
        assertThat(Safetensors.read(folder.resolve("a.safetensors")).tensors()).containsOnlyKeys("y");
    }

    static List<Arguments> malformed() {
        String tensor = "\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}";
        return List.of(
                Arguments.of("too short for a length", new byte[] {1, 2, 3}, "the file has 3 bytes"),
                Arguments.of("senseless header length", withLength(Long.MIN_VALUE), "9223372036854775808 bytes"),
                Arguments.of("header over the limit", withLength(100_000_001), "the format allows 100000000"),
                Arguments.of("header beyond the file", withLength(5000), "the file is truncated or of another format"),
                Arguments.of("not an object", file("[1]     ", 0), "does not begin with '{'"),
                Arguments.of(
                        "broken JSON",
                        file("{\"x\":", 0),
                        "line 1, column 6: found the end inside of an object or a list"),
                Arguments.of("text after the object", file("{} x", 0), "expected the end"),
                Arguments.of("a name with half a surrogate pair", file("{\"\\ud83d\":{}}", 0), "half a surrogate pair"),
                Arguments.of(
                        "negative zero",
                        file("{" + tensor.replace("[2]", "[-0]") + "}", 8),
                        "'x' holds -0.0 where a Long"),
                Arguments.of("name twice", file("{" + tensor + "," + tensor + "}", 8), "key 'x' occurs twice"),
                Arguments.of("unknown dtype", file("{" + tensor.replace("F32", "F31") + "}", 8), "unknown dtype 'F31'"),
                Arguments.of(
                        "wrong dtype for the bytes",
                        file("{" + tensor.replace("F32", "F64") + "}", 8),
                        "needs 16 bytes, but its data_offsets hold 8"),
                Arguments.of(
                        "negative offset",
                        file("{" + tensor.replace("[0,", "[-1,") + "}", 8),
                        "'x' holds -1, expected at least 0"),
                Arguments.of(
                        "two negative sizes",
                        file("{" + tensor.replace("[2]", "[-1,-2]") + "}", 8),
                        "'x' holds -1, expected at least 0"),
                Arguments.of("end before begin", file("{" + tensor.replace("[0,8]", "[8,0]") + "}", 8), "begin <= end"),
                Arguments.of("data cut off", file("{" + tensor + "}", 7), "the file is truncated"),
                Arguments.of("data of no tensor", file("{" + tensor + "}", 9), "the file has 9"),
                Arguments.of(
                        "overlap",
                        file("{" + tensor + ",\"y\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}", 8),
                        "'y' begins at byte 4 and overlaps tensor 'x'"),
                Arguments.of(
                        "hole",
                        file("{" + tensor + ",\"y\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[12,16]}}", 16),
                        "leaves a gap after tensor 'x'"),
                Arguments.of(
                        "shape beyond 64 bits",
                        file("{" + tensor.replace("[2]", "[4611686018427387904,8]") + "}", 8),
                        "more than 2^63 bytes"),
                Arguments.of(
                        "number beyond 64 bits",
                        file("{" + tensor.replace("[2]", "[99999999999999999999]") + "}", 8),
                        "beyond 64 bits"),
                Arguments.of("missing field", file("{\"x\":{\"dtype\":\"F32\"}}", 0), "must have dtype, shape"),
                Arguments.of(
                        "metadata that is no text", file("{\"__metadata__\":{\"a\":1}}", 0), "where a String belongs"),
                Arguments.of(
                        "deep nesting",
                        file("{\"x\":" + "[".repeat(50) + "]".repeat(50) + "}", 0),
                        "more than 16 levels"),
                Arguments.of("invalid UTF-8", invalidUtf8(), "not UTF-8"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource
    void malformed(String what, byte[] bytes, String message) throws IOException {
        Path file = Files.write(folder.resolve("bad.safetensors"), bytes);
        assertThatThrownBy(() -> Safetensors.read(file))
                .as(what)
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("bad.safetensors is not a valid safetensors file")
                .hasMessageContaining(message);
    }

    @Test
    void aMissingFileIsNamed() {
        assertThatThrownBy(() -> Safetensors.read(folder.resolve("none.safetensors")))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("none.safetensors");
    }

    /** Headers that the reference reader takes or refuses; the data have 8 bytes. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "true  | {'x':{'dtype':'F32','shape':[2],'data_offsets':[0,8]}}",
                "true  | `  \t\n\r{'x':{'dtype':'F32','shape':[2],'data_offsets':[0,8]}}\r\n\t `",
                "true  | {'x': {'data_offsets': [0, 8], 'shape': [1, 2, 1], 'dtype': 'I32'}}",
                "true  | {'x':{'dtype':'U8','shape':[],'data_offsets':[0,1]},'y':{'dtype':'U8','shape':[7],'data_offsets':[1,8]}}",
                "true  | {'y':{'dtype':'U8','shape':[7],'data_offsets':[1,8]},'x':{'dtype':'U8','shape':[],'data_offsets':[0,1]}}",
                "true  | {'e':{'dtype':'F32','shape':[2,0],'data_offsets':[0,0]},'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "true  | {'e':{'dtype':'F32','shape':[0],'data_offsets':[8,8]},'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "true  | {'__metadata__':{},'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "true  | {'__metadata__':null,'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "true  | {'__metadata__':{'a':'b'},'':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "true  | {'\\u00e9\\ud83d\\ude00':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "true  | {'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8],'note':[1,{}]}}",
                "false | ",
                "false | {",
                "false | null",
                "false | [{'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}]",
                "false | \ufeff{'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "false | `\u00a0{'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}`",
                "false | `{'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}\u0000`",
                "false | {'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]},}",
                "false | {'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}{}",
                "false | {'x':null}",
                "false | {'x':{'dtype':'F64','shape':[1]}}",
                "false | {'x':{'dtype':'f64','shape':[1],'data_offsets':[0,8]}}",
                "false | {'x':{'dtype':7,'shape':[1],'data_offsets':[0,8]}}",
                "false | {'x':{'dtype':'F64','shape':1,'data_offsets':[0,8]}}",
                "false | {'x':{'dtype':'F64','shape':null,'data_offsets':[0,8]}}",
                "false | {'x':{'dtype':'F64','shape':[1.0],'data_offsets':[0,8]}}",
                "false | {'x':{'dtype':'F64','shape':['1'],'data_offsets':[0,8]}}",
                "false | {'x':{'dtype':'F64','shape':[true],'data_offsets':[0,8]}}",
                "false | {'x':{'dtype':'F64','shape':[01],'data_offsets':[0,8]}}",
                "false | {'x':{'dtype':'F64','shape':[1e0],'data_offsets':[0,8]}}",
                "false | {'x':{'dtype':'F64','shape':[1],'data_offsets':[0]}}",
                "false | {'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8,8]}}",
                "false | {'x':{'dtype':'F64','shape':[1],'data_offsets':[-0,8]}}",
                "false | {'e':{'dtype':'F32','shape':[-0],'data_offsets':[0,0]},'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "false | {'x':{'dtype':'F64','shape':[2],'data_offsets':[0,16]}}",
                "false | {'x':{'dtype':'F32','shape':[1],'data_offsets':[0,4]}}",
                "false | {'x':{'dtype':'F32','shape':[1],'data_offsets':[4,8]}}",
                "false | {'x':{'dtype':'I32','shape':[2,18446744073709551614],'data_offsets':[0,8]}}",
                "false | {'x':{'dtype':'I32','shape':[2,9223372036854775807],'data_offsets':[0,8]}}",
                "false | {'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]},'y':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "false | {'\\ud83d':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "false | {'\\ude00x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "false | {'__metadata__':{'a':null},'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "false | {'__metadata__':{'a':['b']},'x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "false | {'__metadata__':'a','x':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "false | {x:{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}",
                "false | {'x\u0001':{'dtype':'F64','shape':[1],'data_offsets':[0,8]}}"
            })
    void headersAreTakenAndRefusedAsByTheReference(boolean isTaken, @Nullable String header) throws IOException {
        String json = header == null ? "" : header.replace('\'', '"');
        Path file = Files.write(folder.resolve("vector.safetensors"), file(json, 8));
        if (isTaken) {
            assertThat(Safetensors.read(file).tensors()).isNotEmpty();
        } else {
            assertThatThrownBy(() -> Safetensors.read(file))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageNotContaining("\n");
        }
    }

    private static byte[] withLength(long length) {
        return ByteBuffer.allocate(96)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(0, length)
                .array();
    }

    private static byte[] file(String header, int dataBytes) {
        byte[] text = header.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(8 + text.length + dataBytes)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(text.length)
                .put(text)
                .array();
    }

    private static byte[] invalidUtf8() {
        byte[] bytes = file("{\"x\":1}", 0);
        bytes[10] = (byte) 0xff;
        return bytes;
    }
}
