package io.jrun.train.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Steps are a function of the state alone, so that two states can be compared by what follows from them. */
class TrainingStateTest {
    private static final int CONTEXT = 8;

    @BeforeAll
    static void load() {
        Libtorch.load();
    }

    @Test
    void goesBackToTheCommitAsIfNothingHadHappened() {
        TrainingState<TinyGpt, AdamW> straight = state(1);
        train(straight, 5);

        TrainingState<TinyGpt, AdamW> state = state(1);
        train(state, 3);
        state.save();
        train(state, 4);
        state.restore();
        assertThat(state.step()).isEqualTo(3);
        assertThat(state.sampler().taken()).isEqualTo(3);
        train(state, 2);
        assertThat(values(state)).isEqualTo(values(straight));
    }

    @Test
    void goesBackToTheBeginning() {
        TrainingState<TinyGpt, AdamW> straight = state(1);
        train(straight, 2);

        TrainingState<TinyGpt, AdamW> state = state(1);
        state.save();
        train(state, 3);
        state.restore();
        train(state, 2);
        assertThat(values(state)).isEqualTo(values(straight));
    }

    @Test
    void goesBackAgainAndAgain() {
        TrainingState<TinyGpt, AdamW> straight = state(1);
        train(straight, 4);

        TrainingState<TinyGpt, AdamW> state = state(1);
        for (int i = 0; i < 4; i++) {
            state.save();
            train(state, 2);
            state.restore();
            train(state, 1);
        }
        assertThat(values(state)).isEqualTo(values(straight));
    }

    @Test
    void aRankThatComesLaterGetsEverything() {
        TrainingState<TinyGpt, AdamW> straight = state(1);
        train(straight, 5);

        AtomicReferenceArray<List<Integer>> results = new AtomicReferenceArray<>(3);
        LocalWorld.run(3, world -> {
            TrainingState<TinyGpt, AdamW> state = state(world.rank() == 1 ? 1 : 9);
            train(state, world.rank() == 1 ? 3 : world.rank()); // rank 0 has not begun, rank 2 is elsewhere
            state.broadcast(world.group(), 1);
            train(state, 2);
            results.set(world.rank(), values(state));
        });
        for (int rank = 0; rank < 3; rank++) {
            assertThat(results.get(rank)).as("rank %d", rank).isEqualTo(values(straight));
        }
    }

    private static TrainingState<TinyGpt, AdamW> state(long seed) {
        TinyGpt model = new TinyGpt(seed, 16, CONTEXT);
        return new TrainingState<>(
                model, () -> new AdamW(model.parameters(), new AdamWOptions(1e-2)), new ElasticSampler(64, 4, 0));
    }

    private static void train(TrainingState<TinyGpt, AdamW> state, int steps) {
        for (int i = 0; i < steps; i++) {
            try (PointerScope _ = new PointerScope()) {
                long seed = state.sampler().next(0, 1).samples()[0];
                state.optimizer().zero_grad();
                state.model()
                        .loss(TinyGpt.tokens(seed, 2, CONTEXT), TinyGpt.tokens(seed + 1000, 2, CONTEXT))
                        .backward();
                state.optimizer().step();
                state.stepDone();
            }
        }
    }

    /** A hash of each parameter's bits. */
    private static List<Integer> values(TrainingState<TinyGpt, AdamW> state) {
        List<Integer> values = new ArrayList<>();
        ModuleTensors.parameters(state.model())
                .values()
                .forEach(tensor ->
                        values.add(Arrays.hashCode(TensorMemory.segment(tensor).toArray(ValueLayout.JAVA_INT))));
        return values;
    }
}
