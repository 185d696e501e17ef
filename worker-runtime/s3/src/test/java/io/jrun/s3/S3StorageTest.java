package io.jrun.s3;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.checkpoint.sharded.StateEntry;
import io.jrun.train.storage.CommitConflictException;
import io.jrun.train.storage.ObjectReader;
import io.jrun.train.storage.ObjectWriter;
import io.jrun.train.storage.Storage;
import io.jrun.train.storage.StorageException;
import io.jrun.train.storage.Storages;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checkpoints on a real S3 server. */
class S3StorageTest {
    @TempDir
    private static Path folder;

    private static S3Server server;
    private static FaultyLink link;
    private static int tests;

    private String location;

    @BeforeAll
    static void start() throws Exception {
        server = new S3Server(folder, "bucket");
        link = new FaultyLink(server.port());
        System.setProperty("aws.endpointUrl", "http://127.0.0.1:" + link.port());
    }

    @AfterAll
    static void stop() throws Exception {
        List.of("aws.endpointUrl", "aws.accessKeyId", "aws.secretAccessKey").forEach(System::clearProperty);
        link.close();
        server.close();
    }

    @BeforeEach
    void signIn() {
        System.setProperty("aws.accessKeyId", S3Server.USER);
        System.setProperty("aws.secretAccessKey", S3Server.PASSWORD);
        tests++;
        location = "s3://bucket/runs/" + tests;
    }

    @AfterEach
    void noFailureIsLeft() {
        assertThat(link.failuresLeft()).isZero();
    }

    /** 40 MiB are three parts of an upload. */
    @Test
    void largeObjectIsUploadedInPartsAndReadByRanges() throws IOException {
        byte[] content = new byte[40 << 20];
        new Random(1).nextBytes(content);
        try (Storage storage = Storages.open(location)) {
            try (ObjectWriter writer = storage.create("a/large")) {
                for (int at = 0; at < content.length; at += 3_000_000) {
                    writer.write(ByteBuffer.wrap(content, at, Math.min(3_000_000, content.length - at)));
                }
                assertThat(storage.list("")).isEmpty();
                writer.finish();
            }
            try (ObjectWriter abandoned = storage.create("a/abandoned")) {
                abandoned.write(ByteBuffer.wrap(content));
            }
            assertThat(storage.list("")).containsExactly("a/large");
            assertThat(storage.list("b/")).isEmpty();
            try (ObjectReader reader = storage.open("a/large")) {
                assertThat(reader.size()).isEqualTo(content.length);
                ByteBuffer part = ByteBuffer.allocate(20 << 20);
                reader.read(7_000_001, part);
                assertThat(part.flip()).isEqualTo(ByteBuffer.wrap(content, 7_000_001, 20 << 20));
                assertThatThrownBy(() -> reader.read(content.length - 1L, ByteBuffer.allocate(2)))
                        .isInstanceOf(EOFException.class);
            }
            storage.delete("a/large");
            storage.delete("a/large");
            assertThatThrownBy(() -> storage.open("a/large")).isInstanceOf(NoSuchFileException.class);
        }
    }

    @Test
    void oneOfTwoCommitsOnTheSameVersionFails() throws IOException {
        try (Storage storage = Storages.open(location)) {
            storage.commit("index", bytes("one"), Optional.empty());
            assertThatThrownBy(() -> storage.commit("index", bytes("two"), Optional.empty()))
                    .isInstanceOf(CommitConflictException.class)
                    .hasMessageContaining("another job has written " + location + "/index");
            Optional<String> version = storage.version("index");
            storage.commit("index", bytes("three"), version);
            assertThatThrownBy(() -> storage.commit("index", bytes("four"), version))
                    .isInstanceOf(CommitConflictException.class);
            try (ObjectReader reader = storage.open("index")) {
                ByteBuffer found = ByteBuffer.allocate(5);
                reader.read(0, found);
                assertThat(found.array()).isEqualTo(bytes("three"));
            }
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** The client sends the request again, and the condition of the second request fails. */
    @Test
    void aCommitWhoseAnswerIsLostIsNoConflict() throws IOException {
        try (Storage storage = Storages.open(location)) {
            link.loseNextAnswer();
            storage.commit("index", bytes("one"), Optional.empty());
            Optional<String> version = storage.version("index");
            link.loseNextAnswer();
            storage.commit("index", bytes("two"), version);
            assertThat(storage.version("index")).isPresent().isNotEqualTo(version);
        }
    }

    @Test
    void serverThatIsBusyIsTriedAgain() throws IOException {
        try (Storage storage = Storages.open(location)) {
            link.failNext(2);
            storage.commit("index", bytes("one"), Optional.empty());
            link.failNext(1);
            assertThat(storage.list("")).containsExactly("index");
        }
    }

    /** Many stores of other makers refuse them. */
    @Test
    void aStoreThatRefusesNewerChecksumsWorksWithoutASetting() throws IOException {
        link.refuseChecksums(true);
        try {
            try (CheckpointManager manager = CheckpointManager.alone(location, Retention.DEFAULT)) {
                manager.requireWritable();
            }
            try (Storage storage = Storages.open(location);
                    ObjectWriter writer = storage.create("large")) {
                writer.write(ByteBuffer.allocate(20 << 20));
                writer.finish();
                try (ObjectReader reader = storage.open("large")) {
                    reader.read(0, ByteBuffer.allocate(1 << 20));
                }
                assertThat(storage.list("")).containsExactly("large");
            }
            System.setProperty("aws.requestChecksumCalculation", "when_supported");
            try (CheckpointManager manager = CheckpointManager.alone(location, Retention.DEFAULT)) {
                assertThatThrownBy(manager::requireWritable)
                        .isInstanceOf(CheckpointException.class)
                        .hasMessageStartingWith("rank 0 cannot write to " + location + ": ");
            }
        } finally {
            System.clearProperty("aws.requestChecksumCalculation");
            link.refuseChecksums(false);
        }
    }

    @Test
    void unusableCredentialsAreOneClearLine() throws IOException {
        System.setProperty("aws.secretAccessKey", "wrong");
        assertLine("HTTP 403, SignatureDoesNotMatch", "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.");
        System.setProperty("aws.accessKeyId", "nobody");
        assertLine("HTTP 403, InvalidAccessKeyId", "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.");
        signIn();
        location = "s3://no-such-bucket/x";
        assertLine("NoSuchBucket", "Create the bucket, or correct its name.");
    }

    private void assertLine(String... texts) throws IOException {
        try (Storage storage = Storages.open(location)) {
            assertThatThrownBy(() -> storage.list(""))
                    .isInstanceOf(StorageException.class)
                    .message()
                    .startsWith("cannot list " + location)
                    .contains(texts)
                    .hasLineCount(1);
        }
    }

    @Test
    void locationsWithoutABucketAreRefused() {
        for (String wrong : List.of("s3:bucket", "s3:///prefix", "s3://bucket/x?y", "gs://bucket")) {
            assertThatThrownBy(() -> Storages.open(wrong))
                    .as(wrong)
                    .isInstanceOf(IllegalArgumentException.class)
                    .message()
                    .hasLineCount(1)
                    .contains(wrong);
        }
    }

    /** One job saves many times. */
    @Test
    void ranksSaveInTheBackgroundAndKeepTheLast() {
        Libtorch.setThreads(1);
        LocalWorld.run(2, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(location, world.group(), world.runId(), Retention.DEFAULT)) {
                Tensor part = torch.zeros(new long[] {1, 5}, new TensorOptions(torch.ScalarType.Float));
                for (int step = 1; step <= 4; step++) {
                    part.fill_(new Scalar(step));
                    manager.saveAsync(step, new StateDict().put(entry(part, 2, world.rank())));
                }
                assertThat(manager.latest()).hasValue(4);
                assertThat(manager.steps()).containsExactly(3L, 4L);
            }
        });
    }

    @Test
    void ranksSaveReplaceAndReshardOnABucket() {
        Libtorch.setThreads(1);
        for (int value = 1; value <= 3; value++) {
            save(2, Math.max(1, value - 1), value);
        }
        LocalWorld.run(3, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(location, world.group(), world.runId(), Retention.DEFAULT)) {
                assertThat(manager.latest()).hasValue(2);
                assertThat(manager.steps()).containsExactly(1L, 2L);
                for (long step = 1; step <= 2; step++) {
                    Tensor row = torch.zeros(new long[] {1, 5}, new TensorOptions(torch.ScalarType.Float));
                    manager.open(step).load(new StateDict().put(entry(row, 3, world.rank())));
                    assertThat(row.eq(new Scalar(step + 1.0)).all().item_bool()).isTrue();
                }
            }
        });
        assertThatThrownBy(() -> {
                    try (CheckpointManager manager = CheckpointManager.alone(location, Retention.DEFAULT)) {
                        manager.open(9);
                    }
                })
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("no checkpoint of step 9 in " + location);
    }

    private void save(int ranks, long step, double value) {
        LocalWorld.run(ranks, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(location, world.group(), world.runId(), Retention.DEFAULT)) {
                long rows = world.rank() == 0 ? 2 : 1;
                Tensor part =
                        torch.full(new long[] {rows, 5}, new Scalar(value), new TensorOptions(torch.ScalarType.Float));
                manager.save(step, new StateDict().put(entry(part, 3, world.rank() * 2L)));
            }
        });
    }

    private static StateEntry entry(Tensor part, long rows, long first) {
        return new StateEntry("w", List.of(rows, 5L), List.of(first, 0L), part);
    }
}
