package io.jrun.train.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The values were printed by torch 2.13's schedulers. */
class LearningRateScheduleTest {
    private static void assertRates(LearningRateSchedule schedule, double... expected) {
        for (int step = 0; step < expected.length; step++) {
            assertThat(schedule.at(step))
                    .as("step %d", step)
                    .isCloseTo(expected[step], within(1e-14 + 1e-14 * expected[step]));
        }
    }

    @Test
    void linearEqualsTorch() {
        assertRates(LearningRateSchedule.linear(0.1, 0.25, 1, 4), 0.025, 0.04375, 0.0625, 0.08125, 0.1, 0.1, 0.1);
    }

    @Test
    void cosineEqualsTorchAndStaysAtItsEnd() {
        LearningRateSchedule cosine = LearningRateSchedule.cosine(0.1, 6, 0.01);
        assertRates(cosine, 0.1, 0.09397114317029975, 0.0775, 0.055, 0.0325, 0.01602885682970026, 0.01);
        assertThat(cosine.at(1000)).isEqualTo(0.01);
    }

    @Test
    void warmupCosineEqualsTorch() {
        assertRates(
                LearningRateSchedule.warmupCosine(0.1, 0.2, 3, 8, 0.01),
                0.02,
                0.04666666666666667,
                0.07333333333333333,
                0.1,
                0.09140576474687263,
                0.06890576474687263,
                0.04109423525312736,
                0.018594235253127367,
                0.01);
    }

    @Test
    void oneCycleEqualsTorch() {
        OneCycle cycle = OneCycle.of(1, 10);
        assertRates(
                cycle,
                0.04,
                0.52,
                1,
                0.9504846320134737,
                0.8117456539497631,
                0.6112620219362893,
                0.38874197806371075,
                0.18825834605023697,
                0.049519367986526286,
                4e-6);
        assertRates(
                momentum(cycle),
                0.95,
                0.9,
                0.85,
                0.854951556604879,
                0.8688255099070633,
                0.8888739533021842,
                0.9111260466978157,
                0.9311744900929366,
                0.945048443395121,
                0.95);
    }

    @Test
    void oneCycleOfThreePhasesEqualsTorch() {
        OneCycle cycle = new OneCycle(1, 10, 0.4, true, true, 10, 100, 0.8, 0.9);
        assertRates(cycle, 0.1, 0.4, 0.7, 1, 0.7, 0.4, 0.1, 0.067, 0.034, 0.001);
        assertRates(
                momentum(cycle),
                0.9,
                0.8666666666666667,
                0.8333333333333334,
                0.8,
                0.8333333333333334,
                0.8666666666666667,
                0.9,
                0.9,
                0.9,
                0.9);
    }

    private static LearningRateSchedule momentum(LearningRateSchedule schedule) {
        return step -> schedule.momentumAt(step).orElseThrow();
    }

    /** The rise of 0.1 of 10 steps has no length: the first step has the peak. */
    @Test
    void oneCycleWithoutARiseBeginsAtThePeak() {
        assertRates(new OneCycle(1, 10, 0.1, true, false, 25, 1e4, 0.85, 0.95), 1, 8 / 9.0 + 4e-6 / 9);
    }

    @Test
    void aSequenceHasTheMomentumOfItsParts() {
        LearningRateSchedule sequence = LearningRateSchedule.sequence(
                List.of(LearningRateSchedule.constant(1), OneCycle.of(1, 10)), List.of(5L));
        assertThat(sequence.momentumAt(4)).isEmpty();
        assertThat(sequence.momentumAt(5)).hasValue(0.95);
        assertThat(sequence.at(5)).isCloseTo(0.04, within(1e-14));
    }

    @Test
    void namesTheWrongArgument() {
        Stream.<Runnable>of(
                        () -> LearningRateSchedule.constant(-1),
                        () -> LearningRateSchedule.constant(Double.NaN),
                        () -> LearningRateSchedule.cosine(0.1, 0, 0),
                        () -> LearningRateSchedule.warmupCosine(0.1, 0, 5, 5, 0),
                        () -> LearningRateSchedule.sequence(
                                List.of(LearningRateSchedule.constant(1), LearningRateSchedule.constant(1)), List.of()),
                        () -> OneCycle.of(1, 1))
                .forEach(wrong -> assertThatThrownBy(wrong::run)
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageFindingMatch("must be|must ascend|need"));
    }
}
