package io.jrun.train.checkpoint.sharded;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.DrawnCases;
import io.jrun.train.JavaProcess;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.storage.FaultyFileSystem;
import io.jrun.train.storage.FileStorage;
import io.jrun.train.storage.PowerFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process of two ranks replaces the checkpoint of step 1, saves step 2 and removes step 1. It dies at one write,
 * fsync, rename, deletion or creation of these saves. Every checkpoint that is found then is whole: the old one or the
 * new one.
 */
class KilledSaveIT {
    private static final int DRAWN = 4;
    private static final Pattern MADE = Pattern.compile("operations: (\\d+)");
    private static final long[] SHAPE = {5, 3};

    @TempDir
    private Path folder;

    @Test
    void everyKillLeavesTheOldOrTheNewCheckpoint() throws Exception {
        Libtorch.setThreads(1);
        Path counted = prepared("counted");
        long operations = Saver.save(counted, Saver.NEVER);
        assertThat(found(counted)).isEqualTo(Map.of(2L, 3.0));
        List<Long> kills =
                DrawnCases.of(LongStream.rangeClosed(1, operations).boxed().toList(), DRAWN);
        for (long at : kills) {
            Path checkpoints = prepared("killed-" + at);
            String output = killed(checkpoints, at);
            assertThat(output.contains("killed at operation " + at) || operations(output) < at)
                    .as(output)
                    .isTrue();
            Map<Long, Double> found = found(checkpoints);
            assertThat(found).as(output).isNotEmpty();
            found.forEach(
                    (step, value) -> assertThat(value).as(output).isIn(step == 1 ? Set.of(1.0, 2.0) : Set.of(3.0)));
            long _ = Saver.save(checkpoints, Saver.NEVER);
            assertThat(found(checkpoints)).as(output).isEqualTo(Map.of(2L, 3.0));
            try (var tree = Files.walk(checkpoints)) {
                assertThat(tree.filter(Files::isRegularFile)).as(output).hasSize(3);
            }
        }
    }

    /**
     * The operations of a process that has ended by itself: fewer than were counted if one rank found a folder that the
     * other one had made.
     */
    private static long operations(String output) {
        Matcher made = MADE.matcher(output);
        assertThat(made.find()).as(output).isTrue();
        return Long.parseLong(made.group(1));
    }

    private Path prepared(String name) {
        Path checkpoints = folder.resolve(name);
        save(FileStorage.at(checkpoints), 1, 1);
        return checkpoints;
    }

    private String killed(Path checkpoints, long at) throws IOException, InterruptedException {
        try {
            return JavaProcess.start(
                            folder, Saver.class, List.of(), Map.of(), checkpoints.toString(), Long.toString(at))
                    .join();
        } catch (AssertionError killed) {
            assertThat(killed).hasMessageContaining("exit code " + PowerFailure.KILLED);
            return String.valueOf(killed.getMessage());
        }
    }

    /** The value of each checkpoint; fails if the elements of a checkpoint differ. */
    private static Map<Long, Double> found(Path checkpoints) {
        Map<Long, Double> values = new TreeMap<>();
        try (CheckpointManager manager = CheckpointManager.alone(FileStorage.at(checkpoints), Retention.DEFAULT)) {
            for (long step : manager.steps()) {
                Map<String, Tensor> read = manager.open(step).read("");
                assertThat(read).hasSize(3);
                double value = read.values().iterator().next().max().item_double();
                read.values().forEach(tensor -> {
                    assertThat(tensor.min().item_double()).isEqualTo(value);
                    assertThat(tensor.max().item_double()).isEqualTo(value);
                });
                assertThat(manager.open(step).texts()).isEqualTo(Map.of("value", Double.toString(value)));
                values.put(step, value);
            }
        }
        return values;
    }

    private static void save(FileStorage storage, long step, double value) {
        LocalWorld.run(2, world -> {
            try (CheckpointManager manager =
                    CheckpointManager.open(storage, world.group(), "run", new Retention(1, 0))) {
                MeshAxis axis = new MeshAxis("dp", world.group());
                StateDict state = new StateDict().putText("value", Double.toString(value));
                Tensor whole = torch.full(SHAPE, new Scalar(value), new TensorOptions(torch.ScalarType.Float));
                for (String name : List.of("a", "b")) {
                    state.put("", ShardedTensor.distribute(name, whole, new Shard(0), axis));
                }
                manager.save(step, state.put("replicated", whole));
            }
        });
    }

    /** The process that dies. */
    static final class Saver {
        /** No operation has this number. */
        static final long NEVER = 0;

        public static void main(String[] args) {
            Libtorch.setThreads(1);
            System.out.println("operations: " + save(Path.of(args[0]), Long.parseLong(args[1])));
        }

        /** Makes both saves. Returns the number of operations. The process dies at operation {@code at}. */
        static long save(Path checkpoints, long at) {
            PowerFailure failure = new PowerFailure(at);
            FileStorage storage = FileStorage.at(FaultyFileSystem.path(checkpoints, failure));
            KilledSaveIT.save(storage, 1, 2);
            KilledSaveIT.save(storage, 2, 3);
            return failure.operations();
        }
    }
}
