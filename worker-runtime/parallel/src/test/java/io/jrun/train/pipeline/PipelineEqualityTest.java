package io.jrun.train.pipeline;

import static io.jrun.train.EqualBits.assertEqualBits;
import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.DrawnCases;
import io.jrun.train.Libtorch;
import io.jrun.train.pipeline.schedule.PipelineSchedule;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A pipeline against one process that adds up the micro-batches; compared are the bits of parameters after ten steps.
 */
class PipelineEqualityTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** By default each kind once, and one more case that the seed draws. All cases under -Djrun.soak=true. */
    private static List<Arguments> schedules() {
        List<String> kinds = List.of("gpipe 2 1 4", "1f1b 4 1 8", "interleaved 2 2 4", "zb1p 3 1 6", "zbv 2 2 4");
        List<String> more = List.of(
                "gpipe 3 1 7",
                "gpipe 4 1 4",
                "1f1b 2 1 4",
                "1f1b 3 1 7",
                "1f1b 1 1 2",
                "interleaved 4 2 8",
                "zb1p 2 1 8",
                "zb1p 4 1 8",
                "zb1p 2 2 4",
                "zbv 4 2 8",
                "zbv 3 2 6",
                "interleaved 2 4 4");
        List<Arguments> cases = new ArrayList<>();
        List<String> all = new ArrayList<>(kinds);
        all.addAll(DrawnCases.of(more, 1));
        for (String line : all) {
            cases.add(testCase(line, false));
            cases.add(testCase(line, true));
        }
        return cases;
    }

    private static Arguments testCase(String line, boolean isTied) {
        String[] words = line.split(" ", -1);
        return Arguments.of(
                words[0], Integer.parseInt(words[1]), Integer.parseInt(words[2]), Integer.parseInt(words[3]), isTied);
    }

    @ParameterizedTest
    @MethodSource("schedules")
    void everyScheduleHasTheBitsOfSerialAccumulation(
            String name, int ranks, int stagesPerRank, int microBatches, boolean isTied) {
        ScheduleKind kind = ScheduleKind.parse(name);
        PipelineTraining training =
                isTied ? PipelineTraining.of(microBatches).tied() : PipelineTraining.of(microBatches);
        PipelineOptions options = PipelineOptions.of(kind, ranks, stagesPerRank, microBatches);
        PipelineTraining.Result result = training.parallel(options, model -> {
            PipelineReport report = model.report();
            assertThat(report.peakLive())
                    .isLessThanOrEqualTo(kind.peakLive(report.pipelineRank(), ranks, stagesPerRank, microBatches));
            assertThat(report.spans())
                    .extracting(ActionSpan::action)
                    .isEqualTo(options.schedule().programs().get(report.pipelineRank()));
            assertThat(report.bytesSent()).isEqualTo(bytes(options.schedule(), report.pipelineRank()));
        });
        PipelineTraining.Result serial = ranks * stagesPerRank == 1 ? training.serialOfOneStage() : training.serial();
        assertEqualBits(result.parameters(), serial.parameters());
        assertThat(result.losses()).isEqualTo(serial.losses());
    }

    /** Each boundary to another rank: b s h elements for each micro-batch and direction. */
    private static long bytes(PipelineSchedule schedule, int rank) {
        long boundaries = 0;
        for (int stage : schedule.stagesOf(rank)) {
            for (int neighbour : new int[] {stage - 1, stage + 1}) {
                if (neighbour >= 0 && neighbour < schedule.stages() && schedule.rankOf(neighbour) != rank) {
                    boundaries++;
                }
            }
        }
        return boundaries * schedule.microBatches() * 2L * StagedGpt.CONTEXT * StagedGpt.WIDTH * Float.BYTES;
    }

    /** Activation checkpointing, bfloat16 and clipping at once, with two replicas. */
    @ParameterizedTest
    @CsvSource({"1f1b,1", "zb1p,1", "zbv,2"})
    void replicasRecomputationReducedPrecisionAndClippingCompose(String name, int stagesPerRank) {
        PipelineTraining training =
                PipelineTraining.of(4).tied().withReplicas(2).composed();
        PipelineOptions options = PipelineOptions.of(ScheduleKind.parse(name), 2, stagesPerRank, 4);
        assertEqualBits(
                training.parallel(options, _ -> {}).parameters(),
                training.serial().parameters());
    }

    /** Stages of unequal numbers of layers, by a schedule that is read from its text. */
    @Test
    void aScheduleFromTextAndUnequalStagesHaveTheSameBits() {
        PipelineSchedule schedule = PipelineSchedule.parse("0F0 0F1 0B0 0B1\n1F0 1F1 1I0 1B1 1W0");
        StageCut cut = new StageCut(List.of(0, 1), 8);
        PipelineTraining training = PipelineTraining.of(2);
        assertThat(training.parallel(PipelineOptions.of(schedule).withCut(cut), _ -> {})
                        .losses())
                .isEqualTo(training.serial().losses());
    }
}
