package io.jrun.train.zero;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.Libtorch;
import io.jrun.train.ShardedTraining;
import io.jrun.train.UnevenNet;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checkpoints of stage 1 of ZeRO: each rank saves and loads its parts of the states. */
class ZeroCheckpointTest {
    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private record Training(UnevenNet net, DistributedDataParallel<UnevenNet> model, ZeroOptimizer optimizer)
            implements AutoCloseable {
        static Training of(World world) {
            UnevenNet net = new UnevenNet();
            var model = new DistributedDataParallel<>(
                    net, world.group(), ShardedTraining.BUCKETS.withPlacement(GradientPlacement.SHARDED_STATES));
            return new Training(
                    net,
                    model,
                    ZeroOptimizer.of(
                            model.reducer(),
                            FusedAdamW.DEFAULT,
                            ParameterGroup.decayMatrices(0.1),
                            LearningRateSchedule.constant(0.05)));
        }

        void backward(long seed) {
            try (var step = model.step()) {
                net.zero_grad(true);
                step.backward(net.loss(seed, 3));
            }
        }

        /** The samples are those of all ranks, so the number of ranks does not change the result. */
        void steps(int from, int to) {
            for (int step = from; step < to; step++) {
                backward(step);
                optimizer.step();
            }
        }

        StateDict state() {
            StateDict state = new StateDict().putAll("model.", ModuleTensors.parameters(net));
            optimizer.putStates(state, "optimizer.");
            return state;
        }

        void load(SavedCheckpoint saved) {
            saved.load(new StateDict().putAll("model.", ModuleTensors.parameters(net)));
            optimizer.loadStates(saved, "optimizer.");
        }

        Map<String, float[]> values() {
            Map<String, float[]> values = new TreeMap<>();
            ModuleTensors.parameters(net)
                    .forEach((name, tensor) -> values.put(
                            name,
                            TensorMemory.segment(tensor.detach().contiguous()).toArray(ValueLayout.JAVA_FLOAT)));
            return values;
        }

        @Override
        public void close() {
            optimizer.close();
            model.close();
        }
    }

    private CheckpointManager manager(World world) {
        return CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT);
    }

    @Test
    void aRankSavesItsPartsAndOtherRanksGoOnWithTheSameBits() {
        AtomicLong held = new AtomicLong();
        AtomicLong parameters = new AtomicLong();
        run(4, world -> {
            try (Training training = Training.of(world);
                    CheckpointManager manager = manager(world)) {
                training.steps(0, 3);
                StateDict state = training.state();
                held.addAndGet(state.entries().stream()
                        .filter(entry -> entry.name().contains(".exp_avg"))
                        .mapToLong(entry -> entry.local().numel())
                        .sum());
                parameters.set(ModuleTensors.parameters(training.net()).values().stream()
                        .mapToLong(Tensor::numel)
                        .sum());
                manager.save(7, state); // with four steps that were skipped
            }
        });
        assertThat(held).hasValue(2 * parameters.get());
        run(2, world -> {
            Map<String, float[]> expected;
            try (Training whole = Training.of(world)) {
                whole.steps(0, 5);
                expected = whole.values();
            }
            try (Training resumed = Training.of(world);
                    CheckpointManager manager = manager(world)) {
                resumed.load(manager.open(7));
                assertThat(resumed.optimizer().steps()).isEqualTo(3);
                resumed.steps(3, 5);
                assertThat(ShardedTraining.bits(resumed.values())).isEqualTo(ShardedTraining.bits(expected));
            }
        });
    }

    /** All ranks update their parts, and then miss the parts of the others. */
    @Test
    void aStepWhoseExchangeIsInterruptedIsSavedInParts() {
        run(4, world -> {
            try (Training training = Training.of(world);
                    CheckpointManager manager = manager(world)) {
                training.steps(0, 1);
                training.backward(1);
                world.group().barrier();
                world.group().abort("the job stops");
                assertThatThrownBy(() -> training.optimizer().step()).isInstanceOf(CommException.class);
                assertThat(training.optimizer().hasPartsOnly()).isTrue();
                StateDict state = new StateDict();
                training.optimizer().putParts(state, "model.", ModuleTensors.parameters(training.net()));
                training.optimizer().putStates(state, "optimizer.");
                Duration limit = Duration.ofSeconds(30);
                manager.saveWithoutGroup(training.optimizer().steps(), state, limit, limit);
            }
        });
        run(2, world -> {
            Map<String, float[]> expected;
            try (Training whole = Training.of(world)) {
                whole.steps(0, 4);
                expected = whole.values();
            }
            try (Training resumed = Training.of(world);
                    CheckpointManager manager = manager(world)) {
                resumed.load(manager.open(2));
                resumed.steps(2, 4);
                assertThat(ShardedTraining.bits(resumed.values())).isEqualTo(ShardedTraining.bits(expected));
            }
        });
    }

    private static void run(int ranks, Consumer<World> body) {
        LocalWorld.run(LocalWorldOptions.ofSize(ranks).withDeterministic(true), body::accept);
    }
}
