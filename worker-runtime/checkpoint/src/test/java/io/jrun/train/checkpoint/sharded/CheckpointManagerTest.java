package io.jrun.train.checkpoint.sharded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.DamagedCheckpointException;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.checkpoint.TensorFile;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.storage.FaultyFileSystem;
import io.jrun.train.storage.FileStorage;
import io.jrun.train.storage.PowerFailure;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CheckpointManagerTest {
    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static Tensor filled(double value) {
        return torch.full(new long[] {3, 4}, new Scalar(value), new TensorOptions(torch.ScalarType.Float));
    }

    private static StateDict state(double value) {
        return new StateDict().put("w", filled(value)).putText("value", Double.toString(value));
    }

    private static double load(CheckpointManager manager, long step) {
        Tensor loaded = filled(-1);
        manager.open(step).load(new StateDict().put("w", loaded));
        return loaded.min().item_double();
    }

    @Test
    void theSavedCheckpointStaysAlsoBesideLaterOnesOfAnotherRun() {
        NavigableSet<Long> steps = new TreeSet<>(List.of(1L, 2L, 3L, 9L));
        assertThat(new Retention(1, 0).removed(steps, 3)).containsExactly(1L, 2L);
    }

    @Test
    void theNewestAndEveryMthAreKeptAndLaterOnesOfAnotherRunToo() {
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), new Retention(2, 100))) {
            assertThat(manager.latest()).isEmpty();
            for (long step : new long[] {900, 50, 100, 150, 200, 250, 300, 350}) {
                manager.save(step, state((double) step));
            }
            assertThat(manager.steps()).containsExactly(100L, 200L, 300L, 350L, 900L);
            assertThat(manager.latest()).hasValue(900);
            assertThat(load(manager, 200)).isEqualTo(200);
        }
    }

    /** A run went back to step 4 of an earlier run, and is started again. */
    @Test
    void theNewestOfARunIsFoundBelowThoseOfAnEarlierRun() throws IOException {
        try (CheckpointManager earlier = CheckpointManager.alone(folder.toString(), new Retention(3, 0))) {
            for (long step : new long[] {4, 8, 12}) {
                earlier.save(step, state((double) step));
            }
        }
        Files.writeString(folder.resolve("step-00000012/checkpoint.json"), "damaged");
        LocalWorld.run(2, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(folder.toString(), world.group(), "again", Retention.DEFAULT)) {
                assertThat(manager.latestOfRun()).isEmpty();
                manager.save(5, part(world, 5));
                manager.save(6, part(world, 6));
                assertThat(manager.latestOfRun()).hasValue(6);
                assertThat(manager.latest()).hasValue(12);
            }
        });
    }

    /** The other half of the block is of a tensor that nobody loads. */
    @Test
    void aDamagedByteAtTheEndOfTheLastTensorIsFound() throws IOException {
        Tensor tensor = torch.zeros(300_000);
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            manager.save(1, new StateDict().put("a", tensor).put("b", tensor));
            SavedCheckpoint saved = manager.open(1);
            Path part = folder.resolve("step-00000001").resolve(saved.files().getFirst());
            try (FileChannel file = FileChannel.open(part, StandardOpenOption.WRITE)) {
                int _ = file.write(ByteBuffer.wrap(new byte[] {1}), 4096 + 4 * 300_000 - 1);
            }
            assertThatThrownBy(() -> saved.load(new StateDict().put("a", tensor)))
                    .hasMessageContaining(part.getFileName() + " is damaged: the bytes from 0 on");
        }
    }

    /** The data of a part began at any multiple of 8 bytes. */
    @Test
    void aCheckpointOfAnEarlierVersionIsLoaded() throws Exception {
        Path earlier = Path.of(
                Objects.requireNonNull(getClass().getResource("earlier")).toURI());
        try (CheckpointManager manager = CheckpointManager.alone(earlier.toString(), Retention.DEFAULT)) {
            SavedCheckpoint saved = manager.open(manager.latest().orElseThrow());
            Map<String, Tensor> tensors = saved.read("");
            assertThat(saved.texts()).containsExactly(Map.entry("note", "earlier"));
            Tensor numbers = torch.arange(new Scalar(35));
            Map<String, Tensor> expected = Map.of(
                    "w", numbers.to(torch.ScalarType.Float).view(7, 5),
                    "steps", numbers.narrow(0, 0, 3),
                    "half", numbers.narrow(0, 0, 5).to(torch.ScalarType.BFloat16));
            assertThat(tensors).containsOnlyKeys(expected.keySet());
            tensors.forEach((name, tensor) ->
                    assertThat(tensor.equal(expected.get(name))).as(name).isTrue());
        }
    }

    /** The kernel and the processor copy such bytes faster. */
    @Test
    void theFirstTensorOfAPartBeginsOnAPage() throws IOException {
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            manager.save(1, state(3));
        }
        try (Stream<Path> files = Files.list(folder.resolve("step-00000001"));
                TensorFile part =
                        Safetensors.open(files.filter(file -> file.toString().endsWith(".safetensors"))
                                .findFirst()
                                .orElseThrow())) {
            assertThat(part.stored("w").position()).isEqualTo(4096);
        }
    }

    @Test
    void aLocationThatIsAFileIsOneLineBeforeTheFirstSave() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "");
        for (Path place : List.of(file, file.resolve("below"))) {
            try (CheckpointManager manager = CheckpointManager.alone(place.toString(), Retention.DEFAULT)) {
                assertThatThrownBy(manager::latest)
                        .isInstanceOf(CheckpointException.class)
                        .hasMessage("rank 0 cannot find the newest checkpoint: " + file
                                + " is a file. Name a folder for the checkpoints.");
            }
        }
    }

    @Test
    void aSecondSaveOfAStepReplacesTheFirstAndLeavesNoFiles() throws IOException {
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            manager.save(1, state(1));
            manager.save(1, state(2));
            assertThat(load(manager, 1)).isEqualTo(2);
        }
        assertThat(files()).hasSize(2);
    }

    @Test
    void whatAKilledSaveHasLeftIsNoCheckpointAndIsRemovedByTheNextRun() throws IOException {
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            manager.save(1, state(1));
        }
        Files.createDirectories(folder.resolve("step-00000009"));
        Files.writeString(folder.resolve("step-00000009/part-x-r00000-00.safetensors"), "half");
        Files.writeString(folder.resolve("step-00000001/.checkpoint.json.1234.tmp"), "half");
        Files.writeString(folder.resolve("notes.txt"), "of the user");
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            assertThat(manager.latest()).hasValue(1);
            manager.save(2, state(2));
        }
        assertThat(files()).hasSize(5).noneMatch(name -> name.contains("00000009") || name.endsWith(".tmp"));
        assertThat(folder.resolve("notes.txt")).exists();
        assertThat(folder.resolve("step-00000009")).doesNotExist();
    }

    /** Something that cannot be read is an error. A training that begins anew would waste all earlier steps. */
    @ParameterizedTest
    @CsvSource({
        "mkfifo $index,               'it is a pipe, not a regular file'",
        "mkdir $index,                'it is a folder, not a regular file'",
        "mkdir -p $index/inner,       'it is a folder, not a regular file'",
        "ln -s nothing $index,        it is a link to a file that does not exist",
        "ln -s /dev/zero $index,      'it is a device, not a regular file'",
        "rm -r $step; ln -s none $step, the file does not exist",
        "rm -r $step; touch $step,   the file does not exist"
    })
    void whatCannotBeReadIsNoMissingCheckpoint(String command, String reason) throws Exception {
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            manager.save(2, state(2));
            manager.save(4, state(4));
            Path index = folder.resolve("step-00000004/checkpoint.json");
            Files.delete(index);
            String script = "index=" + index + "; step=" + index.getParent() + "; " + command;
            assertThat(new ProcessBuilder("sh", "-c", script).start().waitFor()).isZero();
            assertThat(manager.latest()).hasValue(4);
            assertThatThrownBy(() -> manager.open(4))
                    .isInstanceOf(DamagedCheckpointException.class)
                    .hasMessage(
                            "cannot read " + index + ": " + reason + ". Load another checkpoint, or remove this one.");
            assertThat(manager.completeBefore(4)).hasValue(2);
            Path part = folder.resolve("step-00000002")
                    .resolve(manager.open(2).files().getFirst());
            Files.write(part, new byte[] {0}, StandardOpenOption.APPEND);
            assertThat(manager.completeBefore(4)).as("a part of another size").isEmpty();
            assertThatThrownBy(() -> manager.open(2).load(state(0)))
                    .hasMessageContaining(part.getFileName() + " has ")
                    .hasMessageContaining(" bytes, but the index says ");
        }
    }

    @Test
    void linksToCheckpointsAreReadAndTheirFilesStay() throws IOException {
        Path real = folder.resolve("real");
        try (CheckpointManager manager = CheckpointManager.alone(real.toString(), Retention.DEFAULT)) {
            manager.save(1, state(1));
        }
        Path elsewhere = Files.move(real.resolve("step-00000001"), folder.resolve("elsewhere"));
        Path step = Files.createSymbolicLink(real.resolve("step-00000001"), elsewhere);
        Path location = Files.createSymbolicLink(folder.resolve("location"), real);
        try (CheckpointManager manager = CheckpointManager.alone(location.toString(), new Retention(1, 0))) {
            assertThat(manager.latest()).hasValue(1);
            assertThat(load(manager, 1)).isEqualTo(1);
            manager.save(2, state(2));
            assertThat(manager.steps()).containsExactly(2L);
        }
        assertThat(Files.exists(step, LinkOption.NOFOLLOW_LINKS)).isFalse();
        assertThat(elsewhere.resolve("checkpoint.json")).exists();
    }

    /** A reader finds no index whose parts are gone. */
    @Test
    void theIndexOfARemovedCheckpointIsDeletedFirst() {
        PowerFailure disk = new PowerFailure(0);
        FileStorage storage = FileStorage.at(FaultyFileSystem.path(folder, disk));
        try (CheckpointManager manager = CheckpointManager.alone(storage, new Retention(1, 0))) {
            manager.save(1, state(1));
            manager.save(2, state(2));
        }
        assertThat(disk.log().stream()
                        .filter(each -> each.startsWith("delete ") && !each.endsWith(".tmp"))
                        .map(each -> each.replaceFirst("part-.*", "part")))
                .containsSubsequence("delete checkpoint.json", "delete part", "delete step-00000001");
    }

    @Test
    void aLocationThatCannotBeWrittenIsFoundBeforeTheFirstSave() {
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            manager.requireWritable();
        }
        assertThat(folder).isEmptyDirectory();
        try (CheckpointManager manager = CheckpointManager.alone("/proc/none", Retention.DEFAULT)) {
            assertThatThrownBy(manager::requireWritable)
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageStartingWith("rank 0 cannot write to /proc/none: ")
                    .hasMessageNotContaining("Exception");
        }
    }

    private List<String> files() throws IOException {
        try (Stream<Path> tree = Files.walk(folder)) {
            return tree.filter(Files::isRegularFile).map(Path::toString).toList();
        }
    }

    private static StateDict part(World world, double value) {
        MeshAxis axis = new MeshAxis("dp", world.group());
        return new StateDict()
                .put("", ShardedTensor.distribute("w", filled(value), new Shard(0), axis))
                .putText("value", Double.toString(value));
    }

    @Test
    void ranksWhoseGroupHasEndedSaveTheirParts() throws IOException {
        LocalWorld.run(3, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                StateDict state = part(world, 5);
                world.group().barrier();
                world.group().abort("the job is stopped");
                manager.saveWithoutGroup(5, state, Duration.ofMinutes(2), Duration.ofMinutes(2));
                assertThat(load(manager, 5)).isEqualTo(5);
            }
        });
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            manager.save(6, state(6));
        }
        assertThat(files()).noneMatch(name -> name.contains("exchange"));
    }

    @Test
    void aRankThatHasLeftEndsTheSaveOfTheOthers() {
        LocalWorld.run(2, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                StateDict state = part(world, 5);
                if (world.rank() == 0) {
                    assertThatThrownBy(() ->
                                    manager.saveWithoutGroup(5, state, Duration.ofMinutes(2), Duration.ofMinutes(2)))
                            .isInstanceOf(CommException.class)
                            .hasMessageContaining("rank 1 ")
                            .hasMessageContaining(" before it saved its part in ");
                    assertThat(manager.steps()).isEmpty();
                }
            }
        });
    }

    @Test
    void ranksThatWereStoppedAfterDifferentStepsSaveNothing() {
        LocalWorld.run(2, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                StateDict state = part(world, 5);
                assertThatThrownBy(() -> manager.saveWithoutGroup(
                                5L + world.rank(), state, Duration.ofMinutes(2), Duration.ofMinutes(2)))
                        .isInstanceOf(CheckpointException.class)
                        .hasMessageContaining("after different steps [5, 6]: no checkpoint is saved");
                assertThat(manager.steps()).isEmpty();
            }
        });
    }

    @Test
    void aSaveInTheBackgroundHasTheValuesOfTheCall() {
        LocalWorld.run(2, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                StateDict state = state(0);
                Tensor weight = state.entries().iterator().next().local();
                for (int step = 1; step <= 4; step++) {
                    weight.fill_(new Scalar(step));
                    manager.saveAsync(step, state);
                    weight.fill_(new Scalar(-step)); // the training goes on
                    world.group().barrier(); // its collectives do not meet those of the save
                }
                manager.await();
                assertThat(manager.steps()).containsExactly(3L, 4L);
                assertThat(load(manager, 3)).isEqualTo(3);
                assertThat(load(manager, 4)).isEqualTo(4);
            }
        });
    }

    @Test
    void anErrorOfASaveInTheBackgroundReachesTheNextCallAndALaterSaveWorks() {
        PausedStorage storage = new PausedStorage(FileStorage.at(folder), new CountDownLatch(0));
        try (CheckpointManager manager = CheckpointManager.alone(storage, Retention.DEFAULT)) {
            storage.failNextCommit("No space left on device");
            manager.saveAsync(1, state(1));
            assertThatThrownBy(() -> manager.saveAsync(2, state(2)))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("a save in the background has failed")
                    .hasMessageContaining("rank 0 cannot commit")
                    .hasMessageContaining("No space left on device");
            manager.saveAsync(2, state(2));
            manager.await();
            assertThat(manager.steps()).containsExactly(2L);
        }
    }

    @Test
    void atMostOneSaveIsOutstanding() throws InterruptedException {
        CountDownLatch release = new CountDownLatch(1);
        PausedStorage storage = new PausedStorage(FileStorage.at(folder), release);
        try (CheckpointManager manager = CheckpointManager.alone(storage, Retention.DEFAULT)) {
            manager.saveAsync(1, state(1)); // returns although its commit waits
            Thread second = Thread.ofPlatform().start(() -> manager.saveAsync(2, state(2)));
            while (second.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
            assertThat(storage.commits()).isLessThanOrEqualTo(1);
            release.countDown();
            second.join(10_000);
            manager.await();
            assertThat(manager.steps()).containsExactly(1L, 2L);
        }
    }

    /** The save in the background reads the copy of the state, so the copy lives until the save has ended. */
    @Test
    void anInterruptedThreadFreesNoMemoryThatASaveInTheBackgroundReads() throws Exception {
        PausedStorage storage = new PausedStorage(FileStorage.at(folder), new CountDownLatch(0));
        FutureTask<?> closing = new FutureTask<>(
                () -> {
                    CheckpointManager manager = CheckpointManager.alone(storage, Retention.DEFAULT);
                    manager.saveAsync(1, state(1));
                    Thread.currentThread().interrupt();
                    assertThatThrownBy(manager::close)
                            .isInstanceOf(CheckpointException.class)
                            .hasMessageContaining("interrupted while a save was in progress");
                    assertThat(Thread.currentThread().isInterrupted()).isTrue();
                },
                null);
        Thread training = Thread.ofPlatform().unstarted(closing);
        storage.beforeObjects(() -> {
            while (training.getState() != Thread.State.TIMED_WAITING && training.isAlive()) {
                Thread.onSpinWait();
            }
        });
        training.start();
        closing.get();
        try (CheckpointManager manager = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            assertThat(load(manager, 1)).isEqualTo(1);
        }
    }

    /** Rank 1 cannot write: all ranks say so, with the rank, and the earlier checkpoint stays. */
    @Test
    void aRankThatCannotWriteFailsTheSaveOnAllRanks() {
        LocalWorld.run(2, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                manager.save(1, state(1));
                StateDict unsavable = state(2);
                if (world.rank() == 1) {
                    unsavable.put("q", torch.zeros(new long[] {1}, new TensorOptions(torch.ScalarType.ComplexDouble)));
                }
                assertThatThrownBy(() -> manager.save(2, unsavable))
                        .isInstanceOf(CheckpointException.class)
                        .hasMessageContaining("rank 1 cannot prepare to save")
                        .hasMessageContaining("'q'");
                assertThat(manager.latest()).hasValue(1);
                assertThat(load(manager, 1)).isEqualTo(1);
            }
        });
    }
}
