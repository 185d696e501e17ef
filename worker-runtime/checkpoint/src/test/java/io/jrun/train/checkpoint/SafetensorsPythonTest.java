package io.jrun.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.train.Libtorch;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** safetensors.py in the resources is a reader and a writer in another language, which knows only the format. */
class SafetensorsPythonTest {
    private static final Map<ScalarType, String> TYPES = Map.ofEntries(
            Map.entry(ScalarType.Bool, "BOOL"),
            Map.entry(ScalarType.Byte, "U8"),
            Map.entry(ScalarType.Char, "I8"),
            Map.entry(ScalarType.Short, "I16"),
            Map.entry(ScalarType.Half, "F16"),
            Map.entry(ScalarType.Int, "I32"),
            Map.entry(ScalarType.Float, "F32"),
            Map.entry(ScalarType.Double, "F64"),
            Map.entry(ScalarType.Long, "I64"));

    @TempDir
    private Path folder;

    @BeforeEach
    void requirePython() throws IOException, InterruptedException {
        boolean exists;
        try {
            exists = new ProcessBuilder("python3", "--version").start().waitFor(20, TimeUnit.SECONDS);
        } catch (IOException _) {
            exists = false;
        }
        assumeTrue(exists, "python3 is missing: no reader in another language on this machine");
        Libtorch.load();
    }

    @Test
    void pythonReadsWhatJrunWrites() throws IOException, InterruptedException {
        Map<String, Tensor> tensors = tensors();
        Path file = folder.resolve("model.safetensors");
        Safetensors.write(file, tensors, Map.of("format", "pt", "note", "ü\n\"\u0001"));
        List<String> lines = python("read", file, "").lines().toList();
        assertThat(lines)
                .hasSize(tensors.size() + 1)
                .contains("metadata\t{\"format\": \"pt\", \"note\": \"\\u00fc\\n\\\"\\u0001\"}");
        tensors.forEach((name, tensor) -> assertThat(lines).contains(line(name, tensor)));
    }

    @Test
    void jrunReadsWhatPythonWrites() throws IOException, InterruptedException {
        Map<String, Tensor> tensors = tensors();
        Path file = folder.resolve("model.safetensors");
        String lines = tensors.entrySet().stream()
                .map(entry -> line(entry.getKey(), entry.getValue()))
                .collect(Collectors.joining("\n", "metadata\t{\"format\": \"pt\"}\n", "\n"));
        assertThat(python("write", file, lines)).isEmpty();
        Safetensors.Content content = Safetensors.read(file);
        assertThat(content.metadata()).isEqualTo(Map.of("format", "pt"));
        assertThat(content.tensors()).containsOnlyKeys(tensors.keySet());
        content.tensors().forEach((name, tensor) -> {
            Tensor expected = Objects.requireNonNull(tensors.get(name));
            assertThat(tensor.equal(expected)).as(name).isTrue();
            assertThat(tensor.scalar_type().intern())
                    .isEqualTo(expected.scalar_type().intern());
        });
    }

    /**
     * One tensor of each type, with values that each type has; a scalar, an empty tensor, and a name with special
     * characters.
     */
    private static Map<String, Tensor> tensors() {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        Tensor base = Tensor.create(new float[] {0, 1, 2, 3, 100, 127}, 2, 3);
        TYPES.forEach((type, name) -> tensors.put("of." + name, base.to(type)));
        tensors.put("fraction", Tensor.create(new float[] {-0.1f, 1e-30f, 3.4e38f}));
        tensors.put("scalar", torch.tensor(2.5));
        tensors.put("empty", torch.zeros(0, 4));
        tensors.put("größe \"x\"", torch.ones(1));
        return tensors;
    }

    private static String line(String name, Tensor tensor) {
        double[] values = new double[(int) tensor.numel()];
        if (values.length > 0) {
            tensor.to(ScalarType.Double).contiguous().data_ptr_double().get(values);
        }
        return name + "\t"
                + Objects.requireNonNull(TYPES.get(tensor.scalar_type().intern())) + "\t"
                + LongStream.of(TensorMemory.sizes(tensor))
                        .mapToObj(Long::toString)
                        .collect(Collectors.joining(","))
                + "\t"
                + Arrays.stream(values).mapToObj(SafetensorsPythonTest::number).collect(Collectors.joining(","));
    }

    /** Python's form of a number. */
    private static String number(double value) {
        String text = Double.toString(value);
        if (!text.contains("E")) {
            return text;
        }
        String[] parts = text.split("E", -1);
        int exponent = Integer.parseInt(parts[1]);
        String digits = parts[0].endsWith(".0") ? parts[0].substring(0, parts[0].length() - 2) : parts[0];
        return digits + "e" + (exponent < 0 ? "-" : "+") + String.format("%02d", Math.abs(exponent));
    }

    private String python(String command, Path file, String input) throws IOException, InterruptedException {
        String script = Path.of(Objects.requireNonNull(getClass().getResource("safetensors.py"))
                        .getPath())
                .toString();
        Path out = folder.resolve("out.txt");
        Path in = Files.writeString(folder.resolve("in.txt"), input);
        Process python = new ProcessBuilder("python3", "-X", "utf8", script, command, file.toString())
                .redirectInput(in.toFile())
                .redirectErrorStream(true)
                .redirectOutput(out.toFile())
                .start();
        assertThat(python.waitFor(60, TimeUnit.SECONDS)).isTrue();
        String printed = Files.readString(out, StandardCharsets.UTF_8);
        assertThat(python.exitValue()).as(printed).isZero();
        return printed;
    }
}
