package io.jrun.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SafetensorsFolderTest {
    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.load();
    }

    @Test
    void splitsBySizeAndWritesTheIndexThatHuggingFaceReads() throws IOException {
        SafetensorsFolder.write(folder, tensors(), Map.of("format", "pt"), 24);
        assertThat(names())
                .containsExactlyInAnyOrder(
                        "model-00001-of-00003.safetensors",
                        "model-00002-of-00003.safetensors",
                        "model-00003-of-00003.safetensors",
                        "model.safetensors.index.json");
        assertThat(Files.readString(folder.resolve("model.safetensors.index.json")))
                .isEqualTo("""
                {
                  "metadata": {
                    "total_size": 68
                  },
                  "weight_map": {
                    "a": "model-00001-of-00003.safetensors",
                    "b": "model-00001-of-00003.safetensors",
                    "c": "model-00002-of-00003.safetensors",
                    "d": "model-00003-of-00003.safetensors"
                  }
                }
                """);
        assertThat(SafetensorsFolder.readIndex(folder.resolve("model.safetensors.index.json")))
                .hasSize(4)
                .containsEntry("c", "model-00002-of-00003.safetensors");
    }

    @Test
    void aModelThatFitsIsOneFileAndReplacesAnIndex() throws IOException {
        SafetensorsFolder.write(folder, tensors(), Map.of(), 24);
        SafetensorsFolder.write(folder, tensors(), Map.of(), 68);
        assertThat(names()).contains("model.safetensors").doesNotContain("model.safetensors.index.json");
        assertThat(Safetensors.read(folder.resolve("model.safetensors")).tensors())
                .containsOnlyKeys("a", "b", "c", "d");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{}                                    | lacks 'weight_map'",
                "{\"weight_map\":{\"a\":1}}            | 'a' is 1, expected a string",
                "{\"weight_map\":{\"a\":\"../x\"}}     | expected the name of a file in the same folder",
                "{\"weight_map\":{\"a\":\"/etc/x\"}}   | expected the name of a file in the same folder",
                "{\"weight_map\":{\"a\":\"x\",\"a\":\"y\"}} | key 'a' occurs twice",
                "{\"weight_map\":{\"a\":\"x\"          | , line 1, column 23: found the end, expected '}' of the object: it begins at line 1, column 15"
            })
    void aWrongIndexIsOneLine(String json, String message) throws IOException {
        Path index = Files.writeString(folder.resolve("model.safetensors.index.json"), json);
        assertThatThrownBy(() -> SafetensorsFolder.readIndex(index))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("model.safetensors.index.json")
                .hasMessageContaining(message)
                .hasMessageNotContaining("\n");
    }

    private static Map<String, Tensor> tensors() {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        tensors.put("b", torch.ones(4));
        tensors.put("a", torch.ones(2));
        tensors.put("c", torch.ones(1));
        tensors.put("d", torch.ones(10));
        return tensors;
    }

    private List<String> names() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }
}
