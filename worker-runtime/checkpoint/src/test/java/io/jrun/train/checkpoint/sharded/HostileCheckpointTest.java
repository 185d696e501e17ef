package io.jrun.train.checkpoint.sharded;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.zip.CRC32C;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Indexes of checkpoints with a correct checksum that jrun has not written: each is used, or refused in one line. */
class HostileCheckpointTest {
    private static final int HOSTILE = Boolean.getBoolean("jrun.soak") ? 2_000 : 100;
    private static final int CHECKSUM_END = "{\"crc32c\":\"00000000\",".length();

    @TempDir
    private Path folder;

    private Path index;

    @BeforeEach
    void save() throws IOException {
        Libtorch.setThreads(1);
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            manager.save(
                    1,
                    new StateDict()
                            .put("a", torch.ones(4, 3))
                            .put("b", torch.ones(2))
                            .putText("t", "x"));
        }
        index = folder.resolve("step-00000001/checkpoint.json");
        assertThat(refusal(rest())).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "\"position\":       | \"position\":9223372036854775000,\"x\":  | tensor 'a' lies outside of its part",
                "\"shape\":[4,3]     | \"shape\":[9223372036854775807,9223372036854775807] | a size is beyond 64 bits",
                "\"shape\":[4,3],\"chunks\" | \"shape\":[999999,3],\"chunks\" | tensor 'a' has 12 of its 2999997 elements",
                "\"shape\":[4,3],\"chunks\":[ | \"shape\":[4,3],\"chunks\":[{\"offsets\":[0,0],\"shape\":[1,3],\"part\":0,"
                        + "\"position\":0}, | tensor 'a' has 15 of its 12 elements",
                "\"offsets\":[0,0]   | \"offsets\":[9223372036854775807,0] | has no part of shape",
                "\"offsets\":[0,0]   | \"offsets\":[-1,0]                | -1 where 0 or more is expected",
                "\"part\":0          | \"part\":99999999999             | a size is beyond 64 bits",
                "\"part\":0          | \"part\":7                       | tensor 'a' lies outside of its part",
                "\"file\":\"part      | \"file\":\"../part                | is not the name of a file beside the index",
                "\"dtype\":\"F32\"     | \"dtype\":\"F99\"                | tensor 'a' has the type F99",
                "\"format\":         | \"format\":\"x\",\"other\":         | its format is x",
                "\"tensors\":        | \"tensors\":[],\"other\":         | where an object is expected"
            })
    void eachBrokenRuleIsOneLine(String from, String to, String message) throws IOException {
        String rest = rest();
        assertThat(rest).contains(from);
        assertThat(refusal(rest.replace(from, to)))
                .contains(message == null ? "" : message)
                .isNotEmpty();
    }

    @Test
    void changedIndexesAreUsedOrRefusedInOneLine() throws IOException {
        SplittableRandom random = new SplittableRandom(Long.getLong("jrun.test.seed", 1));
        String good = rest();
        int refused = 0;
        for (int i = 0; i < HOSTILE; i++) {
            StringBuilder changed = new StringBuilder(good);
            for (int change = 0; change <= random.nextInt(3); change++) {
                int at = random.nextInt(good.length());
                changed.setCharAt(
                        at, (char) (random.nextBoolean() ? random.nextInt('0', '9' + 1) : random.nextInt(32, 127)));
            }
            long before = allocated();
            refused += refusal(changed.toString()).isEmpty() ? 0 : 1;
            assertThat(allocated() - before).as("case %d: bytes of the heap", i).isLessThan(16L << 20);
        }
        assertThat(refused).isGreaterThan(HOSTILE / 4);
    }

    /** The text behind the checksum. */
    private String rest() throws IOException {
        return Files.readString(index).substring(CHECKSUM_END);
    }

    /** The message of the error; empty if the checkpoint is read. */
    private String refusal(String rest) throws IOException {
        CRC32C checksum = new CRC32C();
        checksum.update(ByteBuffer.wrap(rest.getBytes(StandardCharsets.UTF_8)));
        Files.writeString(index, String.format("{\"crc32c\":\"%08x\",%s", checksum.getValue(), rest));
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            manager.open(1).read("").values().forEach(Tensor::close);
            return "";
        } catch (CheckpointException e) {
            String message = String.valueOf(e.getMessage());
            assertThat(message).doesNotContain("\n").hasSizeLessThan(2_010);
            return message;
        }
    }

    private static long allocated() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean())
                .getThreadAllocatedBytes(Thread.currentThread().threadId());
    }
}
