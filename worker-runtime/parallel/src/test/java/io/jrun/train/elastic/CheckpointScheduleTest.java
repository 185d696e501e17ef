package io.jrun.train.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.checkpoint.sharded.StateDict;
import java.nio.file.Path;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CheckpointScheduleTest {
    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.load();
    }

    @Test
    void savesEverySoManyStepsAndWhenAsked() {
        CheckpointManager manager = manager(folder);
        var schedule = new CheckpointSchedule(manager, 3);
        var state = state();

        state.goTo(2, 5);
        schedule.saveIfDue(state, false);
        assertThat(manager.latest()).isEmpty();
        schedule.saveIfDue(state, true);
        assertThat(manager.latest()).hasValue(2);
        state.goTo(4, 7);
        schedule.saveIfDue(state, false);
        assertThat(manager.latest()).hasValue(2);
        state.goTo(6, 9); // a program need not commit each step
        schedule.saveIfDue(state, false);
        assertThat(manager.latest()).hasValue(6);
    }

    @Test
    void aNewProgramGoesOnFromTheNewestOne() {
        CheckpointManager manager = manager(folder);
        var state = state();
        state.goTo(6, 9);
        new CheckpointSchedule(manager, 3).saveIfDue(state, false);

        var resumed = state().checkpointed(manager, 3);
        assertThat(resumed.step()).isEqualTo(6);
        assertThat(resumed.sampler().taken()).isEqualTo(9);
        assertThat(state().checkpointed(manager(folder.resolve("none")), 3).step())
                .isZero();
    }

    @Test
    void refusesAnotherProgramsCheckpointAndNoInterval() {
        CheckpointManager manager = manager(folder);
        var state = state();
        manager.save(4, new StateDict());
        assertThatThrownBy(() -> state.checkpointed(manager, 3))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("step 4 in " + folder)
                .hasMessageContaining("another program");
        assertThatThrownBy(() -> state.checkpointed(manager, 0)).isInstanceOf(IllegalArgumentException.class);
    }

    private static CheckpointManager manager(Path folder) {
        return CheckpointManager.alone(folder.toString(), Retention.DEFAULT);
    }

    private static TrainingState<TinyGpt, AdamW> state() {
        TinyGpt model = new TinyGpt(1, 16, 8);
        return new TrainingState<>(
                model, () -> new AdamW(model.parameters(), new AdamWOptions(0.01)), new ElasticSampler(64, 4, 1));
    }
}
