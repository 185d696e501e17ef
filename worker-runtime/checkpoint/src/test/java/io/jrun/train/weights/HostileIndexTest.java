package io.jrun.train.weights;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.SafetensorsFolder;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Indexes that no tool has written: each is used, or refused in one line. */
class HostileIndexTest {
    private static final int HOSTILE = Boolean.getBoolean("jrun.soak") ? 2_000 : 100;
    private static final String SHARD = "model-00001-of-00002.safetensors";

    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "[]                                              | , line 1, column 1: found '[', expected '{'",
                "{}                                              | lacks 'weight_map'",
                "{\"weight_map\": []}                            | : 'weight_map' is [], expected an object",
                "{\"weight_map\": {\"a\": 1}}                    | : 'a' is 1, expected a string",
                "{\"weight_map\": {\"a\": \"../secret\"}}        | tensor 'a' is in '../secret', expected the name of a file",
                "{\"weight_map\": {\"a\": \"/etc/passwd\"}}      | tensor 'a' is in '/etc/passwd', expected the name of a file",
                "{\"weight_map\": {\"a\": \"..\"}}               | tensor 'a' is in '..', expected the name of a file",
                "{\"weight_map\": {\"a\": \"x\\u0000y\"}}        | expected the name of a file",
                "{\"weight_map\": {\"a\": \"none.safetensors\"}} | names the file none.safetensors, which is missing",
                "{\"weight_map\": {\"z\": \"" + SHARD + "\"}}    | says that tensor 'z' is in " + SHARD
                        + ", but the file lacks",
                "{\"weight_map\": {\"a\": \"x\", \"a\": \"y\"}}  | key 'a' occurs twice",
                "{\"weight_map\": {\"a\\nforged\": 1}}          | : 'a?forged' is 1, expected a string",
                "{\"weight_map\": {\"a\": {\"a\": {\"a\": {}}}}} | expected a string"
            })
    void eachBrokenRuleIsOneLine(String json, String message) throws IOException {
        Files.write(index(), json.getBytes(StandardCharsets.UTF_8));
        assertThat(refusal()).contains(message);
    }

    @Test
    void deepNestingIsRefused() throws IOException {
        index();
        Files.writeString(folder.resolve(SafetensorsFolder.INDEX_FILE), "{\"a\":".repeat(100_000));
        assertThat(refusal()).contains(", line 1, column 86: more than 16 levels of lists and objects");
    }

    @Test
    void aLongValueIsCut() throws IOException {
        index();
        Files.writeString(
                folder.resolve(SafetensorsFolder.INDEX_FILE),
                "{\"weight_map\": {\"a\": [\"" + "x".repeat(1 << 20) + "\"]}}");
        assertThat(refusal()).contains("'a' is [xxx").endsWith("...");
    }

    @Test
    void changedIndexesAreReadOrRefusedInOneLine() throws IOException {
        SplittableRandom random = new SplittableRandom(Long.getLong("jrun.test.seed", 1));
        byte[] good = Files.readAllBytes(index());
        int refused = 0;
        for (int i = 0; i < HOSTILE; i++) {
            byte[] bytes = good.clone();
            int at = random.nextInt(bytes.length);
            switch (i % 4) {
                case 0 -> bytes[at] = (byte) random.nextInt();
                case 1 -> bytes = Arrays.copyOf(bytes, at);
                case 2 -> bytes[at] = (byte) random.nextInt(32, 127);
                default -> {
                    int length = random.nextInt(Math.min(60, bytes.length - at));
                    System.arraycopy(good, at, bytes, random.nextInt(bytes.length - length), length);
                }
            }
            Files.write(folder.resolve(SafetensorsFolder.INDEX_FILE), bytes);
            long before = allocated();
            String message = refusal();
            assertThat(allocated() - before).as("case %d: bytes of the heap", i).isLessThan(16L << 20);
            refused += message.isEmpty() ? 0 : 1;
        }
        assertThat(refused).isGreaterThan(HOSTILE / 4);
    }

    /** The message of the error; empty if the files are read. */
    private String refusal() {
        try (WeightFiles files = WeightFiles.open(folder)) {
            for (String name : files.names()) {
                files.fileOf(name).load(name).close();
            }
            return "";
        } catch (CheckpointException e) {
            String message = String.valueOf(e.getMessage());
            assertThat(message).doesNotContain("\n").hasSizeLessThan(2_010);
            return message;
        }
    }

    private Path index() {
        Libtorch.load();
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        for (String name : new String[] {"a", "b", "c"}) {
            tensors.put(name, torch.ones(4));
        }
        SafetensorsFolder.write(folder, tensors, Map.of(), 32);
        return folder.resolve(SafetensorsFolder.INDEX_FILE);
    }

    private static long allocated() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean())
                .getThreadAllocatedBytes(Thread.currentThread().threadId());
    }
}
