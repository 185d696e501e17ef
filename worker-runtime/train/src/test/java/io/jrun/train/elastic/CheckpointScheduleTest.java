package io.jrun.train.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.checkpoint.CheckpointDirectory;
import io.jrun.train.checkpoint.CheckpointException;
import java.nio.file.Path;
import java.util.Map;
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
        CheckpointDirectory directory = CheckpointDirectory.of(folder);
        var schedule = new CheckpointSchedule(directory, 3);
        var state = state();

        state.goTo(2, 5);
        schedule.saveIfDue(state, false);
        assertThat(directory.latest()).isEmpty();
        schedule.saveIfDue(state, true);
        assertThat(directory.latest()).hasValue(2);
        state.goTo(4, 7);
        schedule.saveIfDue(state, false);
        assertThat(directory.latest()).hasValue(2);
        state.goTo(6, 9); // a program need not commit each step
        schedule.saveIfDue(state, false);
        assertThat(directory.latest()).hasValue(6);
    }

    @Test
    void aNewProgramGoesOnFromTheNewestOne() {
        CheckpointDirectory directory = CheckpointDirectory.of(folder);
        var state = state();
        state.goTo(6, 9);
        new CheckpointSchedule(directory, 3).saveIfDue(state, false);

        var resumed = state().checkpointed(directory, 3);
        assertThat(resumed.step()).isEqualTo(6);
        assertThat(resumed.sampler().taken()).isEqualTo(9);
        assertThat(state().checkpointed(CheckpointDirectory.of(folder.resolve("none")), 3)
                        .step())
                .isZero();
    }

    @Test
    void refusesAnotherProgramsCheckpointAndNoInterval() {
        CheckpointDirectory directory = CheckpointDirectory.of(folder);
        var state = state();
        directory.save(4, state.model(), state.optimizer(), Map.of());
        assertThatThrownBy(() -> state.checkpointed(directory, 3))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("step 4 in " + folder)
                .hasMessageContaining("another program");
        assertThatThrownBy(() -> state.checkpointed(directory, 0)).isInstanceOf(IllegalArgumentException.class);
    }

    private static TrainingState<TinyGpt, AdamW> state() {
        TinyGpt model = new TinyGpt(1, 16, 8);
        return new TrainingState<>(
                model, () -> new AdamW(model.parameters(), new AdamWOptions(0.01)), new ElasticSampler(64, 4, 1));
    }
}
