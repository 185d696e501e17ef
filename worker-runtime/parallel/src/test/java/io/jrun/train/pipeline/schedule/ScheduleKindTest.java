package io.jrun.train.pipeline.schedule;

import static io.jrun.train.pipeline.schedule.ScheduleKind.GPIPE;
import static io.jrun.train.pipeline.schedule.ScheduleKind.INTERLEAVED;
import static io.jrun.train.pipeline.schedule.ScheduleKind.ONE_FORWARD_ONE_BACKWARD;
import static io.jrun.train.pipeline.schedule.ScheduleKind.ZERO_BUBBLE;
import static io.jrun.train.pipeline.schedule.ScheduleKind.ZERO_BUBBLE_V;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class ScheduleKindTest {
    /** Kind, stages per rank, ranks, micro-batches, and one line for each rank. */
    private static List<Arguments> ordersOfTorch() throws IOException {
        List<Arguments> cases = new ArrayList<>();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(
                requireNonNull(ScheduleKindTest.class.getResourceAsStream("/pipeline-orders.txt")),
                StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("#")) {
                    continue;
                }
                String[] header = line.split(" ", 4);
                int ranks = Integer.parseInt(header[2]);
                List<String> orders = new ArrayList<>();
                for (int rank = 0; rank < ranks; rank++) {
                    orders.add(requireNonNull(lines.readLine()));
                }
                cases.add(Arguments.of(
                        ScheduleKind.parse(header[0]),
                        Integer.parseInt(header[1]),
                        ranks,
                        Integer.parseInt(header[3]),
                        String.join("\n", orders)));
            }
        }
        return cases;
    }

    @ParameterizedTest
    @MethodSource("ordersOfTorch")
    void makesTheOrderThatTorchMakes(ScheduleKind kind, int stagesPerRank, int ranks, int microBatches, String orders) {
        PipelineSchedule schedule = kind.schedule(ranks, stagesPerRank, microBatches);
        assertThat(schedule.text()).isEqualTo(orders);
        assertThat(orders.lines().map(PipelineSchedule::parseLine)).isEqualTo(schedule.programs());
    }

    @ParameterizedTest
    @EnumSource
    void everyScheduleRunsAndHoldsAsManyActivationsAsTheFormulaSays(ScheduleKind kind) {
        int checked = 0;
        for (int ranks = 1; ranks <= 8; ranks++) {
            for (int stages = 1; stages <= 3; stages++) {
                for (int microBatches : new int[] {ranks, 2 * ranks, 7, 3 * ranks}) {
                    PipelineSchedule schedule;
                    try {
                        schedule = kind.schedule(ranks, stages, microBatches);
                    } catch (ScheduleException _) {
                        continue; // not of this kind
                    }
                    ScheduleCheck.requireRunnable(schedule);
                    ScheduleSimulation simulation = ScheduleSimulation.of(schedule, ActionCosts.EQUAL);
                    boolean exact = kind != ZERO_BUBBLE_V || microBatches >= 2 * ranks - 1;
                    for (int rank = 0; rank < ranks; rank++) {
                        int formula = kind.peakLive(rank, ranks, stages, microBatches);
                        assertThat(simulation.peakLive(rank))
                                .as(
                                        "%s, %d ranks, %d stages, %d micro-batches, rank %d",
                                        kind, ranks, stages, microBatches, rank)
                                .isBetween(exact ? formula : 1, formula);
                    }
                    checked++;
                }
            }
        }
        assertThat(checked).isGreaterThan(20);
    }

    /** Bubble of GPipe and 1F1B: (P-1)/(m+P-1) of the time. Source: Huang et al. 2019. */
    @ParameterizedTest
    @CsvSource({"2,4", "4,4", "4,8", "4,16", "8,32"})
    void bubbleOfOneStageARankIsTheFormula(int ranks, int microBatches) {
        for (ScheduleKind kind : List.of(GPIPE, ONE_FORWARD_ONE_BACKWARD)) {
            for (ActionCosts costs : List.of(new ActionCosts(2, 1, 1), new ActionCosts(1, 1, 1))) {
                ScheduleSimulation simulation = ScheduleSimulation.of(kind.schedule(ranks, 1, microBatches), costs);
                for (int rank = 0; rank < ranks; rank++) {
                    assertThat(simulation.idle(rank) * (microBatches + ranks - 1))
                            .isEqualTo(simulation.makespan() * (ranks - 1));
                }
            }
        }
    }

    /** Bubble of interleaved 1F1B: (P-1)/(V m) of the ideal time. Source: Narayanan et al. 2021, section 2.2.2. */
    @ParameterizedTest
    @CsvSource({"2,2,4", "4,2,8", "4,2,16", "4,4,8"})
    void bubbleOfInterleavedStagesIsTheFormula(int ranks, int stages, int microBatches) {
        ScheduleSimulation simulation =
                ScheduleSimulation.of(INTERLEAVED.schedule(ranks, stages, microBatches), ActionCosts.EQUAL);
        long ideal = 3L * microBatches * stages;
        assertThat((simulation.makespan() - ideal) * stages * microBatches).isEqualTo(ideal * (ranks - 1));
    }

    /** Bubble of ZB1P: (P-1)(F+I-W). Source: Qi et al. 2023, table 1. */
    @ParameterizedTest
    @CsvSource({"2,4,13", "4,8,27", "4,16,51"})
    void bubbleOfZeroBubbleIsTheFormula(int ranks, int microBatches, long makespan) {
        ScheduleSimulation simulation =
                ScheduleSimulation.of(ZERO_BUBBLE.schedule(ranks, 1, microBatches), ActionCosts.EQUAL);
        assertThat(simulation.makespan()).isEqualTo(makespan).isEqualTo(3L * microBatches + ranks - 1);
    }

    @Test
    void placesTheStagesOfZbvAsAV() {
        PipelineSchedule schedule = ZERO_BUBBLE_V.schedule(2, 2, 4);
        assertThat(schedule.stageRanks()).containsExactly(0, 1, 1, 0);
        assertThat(schedule.stagesOf(0)).containsExactly(0, 3);
        assertThat(INTERLEAVED.schedule(2, 2, 4).stageRanks()).containsExactly(0, 1, 0, 1);
    }

    @Test
    void refusesWhatHasNoScheduleAndSaysWhatToUse() {
        assertThatThrownBy(() -> ONE_FORWARD_ONE_BACKWARD.schedule(4, 1, 3))
                .hasMessage("schedule 1f1b: 3 micro-batches are fewer than the 4 pipeline ranks: use at least 4");
        assertThatThrownBy(() -> INTERLEAVED.schedule(2, 2, 7))
                .hasMessage("schedule interleaved: 7 micro-batches do not divide into 3 rounds: use a multiple of 2");
        assertThatThrownBy(() -> GPIPE.schedule(2, 2, 4)).hasMessage("schedule gpipe: a rank holds 1 stage, not 2");
        assertThatThrownBy(() -> ZERO_BUBBLE_V.schedule(2, 1, 4)).hasMessageContaining("a rank holds 2 stages, not 1");
        assertThatThrownBy(() -> ScheduleKind.parse("2f2b"))
                .hasMessage("no schedule has the name '2f2b': use one of gpipe, 1f1b, interleaved, zb1p, zbv");
    }
}
