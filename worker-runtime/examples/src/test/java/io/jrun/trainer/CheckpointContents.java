package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The tensors of checkpoints of train.jar. */
final class CheckpointContents {
    private CheckpointContents() {}

    /** The values of all tensors of a checkpoint by name, without the counts of steps. Float64 has all their bits. */
    static Map<String, double[]> of(Path folder, long step) {
        try (CheckpointManager saved = CheckpointManager.alone(folder.toString(), Retention.DEFAULT)) {
            Map<String, double[]> values = new TreeMap<>();
            Map<String, Tensor> tensors = saved.open(step).read("");
            tensors.forEach((tensor, value) -> {
                if (!tensor.endsWith(".step")) {
                    values.put(tensor, values(value));
                }
            });
            tensors.values().forEach(Tensor::close);
            return values;
        }
    }

    /** The values of a tensor of any floating point type. */
    static double[] values(Tensor tensor) {
        try (Tensor wide = tensor.to(torch.ScalarType.Double)) {
            return TensorMemory.segment(wide).toArray(ValueLayout.JAVA_DOUBLE);
        }
    }

    /** All tensors have the same bits. An assertion on each element would take most of the time of a test. */
    static void assertSame(Map<String, double[]> found, Map<String, double[]> expected, String what) {
        assertThat(found.keySet()).as(what).isEqualTo(expected.keySet());
        expected.forEach((name, values) -> {
            int place = Arrays.mismatch(found.get(name), values);
            assertThat(place)
                    .as("%s %s: the first place that differs", what, name)
                    .isEqualTo(-1);
        });
    }

    /** No element differs by more than {@code tolerance}. */
    static void assertClose(
            Map<String, double[]> found, Map<String, double[]> expected, double tolerance, String what) {
        assertThat(found.keySet()).as(what).isEqualTo(expected.keySet());
        expected.forEach((name, values) -> {
            double[] others = Objects.requireNonNull(found.get(name));
            assertThat(others).as("%s %s", what, name).hasSameSizeAs(values);
            for (int i = 0; i < values.length; i++) {
                if (!(Math.abs(others[i] - values[i]) <= tolerance)) { // also NaN
                    fail("%s %s: element %d is %s, expected %s", what, name, i, others[i], values[i]);
                }
            }
        });
    }

    /** Loads a checkpoint into a new model of {@code ranks} ranks, saves the model, and returns what was saved. */
    static Map<String, double[]> loadedAndSaved(int ranks, TrainingArguments options, Path from, long step, Path to) {
        LocalWorld.run(
                LocalWorldOptions.ofSize(ranks).withDeterministic(true), world -> move(world, options, from, step, to));
        return of(to, step);
    }

    private static void move(World world, TrainingArguments given, Path from, long step, Path to) {
        try (DeviceMesh mesh = given.parallel().mesh(world)) {
            TrainingArguments options =
                    given.withAccumulation(ParallelOptions.dataGroup(mesh).size());
            try (var trainer = new TrainingSteps(options, world, mesh);
                    var saved =
                            CheckpointManager.open(from.toString(), world.group(), world.runId(), Retention.DEFAULT);
                    var copy = CheckpointManager.open(to.toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                RankState.load(trainer, saved.open(step), world.rank());
                trainer.load(saved.open(step));
                try (RankState state = RankState.of(trainer, world.rank(), Map.of())) {
                    trainer.put(state.dict());
                    copy.save(step, state.dict());
                }
            }
        }
    }
}
