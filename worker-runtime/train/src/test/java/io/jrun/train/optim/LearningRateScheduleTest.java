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
        assertRates(cosine, 0.1, 0.093971143170299753, 0.0775, 0.055, 0.0325, 0.016028856829700261, 0.01);
        assertThat(cosine.at(1000)).isEqualTo(0.01);
    }

    @Test
    void warmupCosineEqualsTorch() {
        assertRates(
                LearningRateSchedule.warmupCosine(0.1, 0.2, 3, 8, 0.01),
                0.02,
                0.046666666666666669,
                0.073333333333333334,
                0.1,
                0.091405764746872634,
                0.068905764746872628,
                0.041094235253127359,
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
                0.95048463201347366,
                0.81174565394976306,
                0.61126202193628931,
                0.38874197806371075,
                0.18825834605023697,
                0.049519367986526286,
                4e-6);
        assertRates(
                cycle::momentumAt,
                0.95,
                0.9,
                0.85,
                0.85495155660487898,
                0.86882550990706331,
                0.88887395330218422,
                0.91112604669781572,
                0.93117449009293662,
                0.94504844339512095,
                0.95);
    }

    @Test
    void oneCycleOfThreePhasesEqualsTorch() {
        OneCycle cycle = new OneCycle(1, 10, 0.4, true, true, 10, 100, 0.8, 0.9);
        assertRates(cycle, 0.1, 0.4, 0.7, 1, 0.7, 0.4, 0.1, 0.067, 0.034, 0.001);
        assertRates(
                cycle::momentumAt,
                0.9,
                0.8666666666666667,
                0.83333333333333337,
                0.8,
                0.83333333333333337,
                0.8666666666666667,
                0.9,
                0.9,
                0.9,
                0.9);
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
