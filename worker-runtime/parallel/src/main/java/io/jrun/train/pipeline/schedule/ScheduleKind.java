package io.jrun.train.pipeline.schedule;

import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The schedules, and the paper of each. */
public enum ScheduleKind {
    /** All forward passes, then all backward passes: Huang et al. 2019, arXiv 1811.06965. */
    GPIPE("gpipe"),
    /** One forward, one backward pass: Narayanan et al. 2019 (PipeDream-Flush, arXiv 2006.09503). */
    ONE_FORWARD_ONE_BACKWARD("1f1b"),
    /** 1F1B with several stages a rank: Narayanan et al. 2021, arXiv 2104.04473, section 2.2.2. */
    INTERLEAVED("interleaved"),
    /** The weights' gradients fill the bubble: Qi et al. 2023, arXiv 2401.10241, schedule ZB-H1. */
    ZERO_BUBBLE("zb1p"),
    /** Two stages a rank, placed as a V: Qi et al. 2023, arXiv 2401.10241, section 6. */
    ZERO_BUBBLE_V("zbv");

    private final String text;

    ScheduleKind(String text) {
        this.text = text;
    }

    /** Name on a command line. */
    public String text() {
        return text;
    }

    /**
     * The kind of this name, in any case of letters.
     *
     * @throws ScheduleException if no kind has this name; the message lists all names
     */
    public static ScheduleKind parse(String name) {
        for (ScheduleKind kind : values()) {
            if (kind.text.equals(name.toLowerCase(Locale.ROOT))) {
                return kind;
            }
        }
        String names = Stream.of(values()).map(ScheduleKind::text).collect(Collectors.joining(", "));
        throw new ScheduleException("no schedule has the name '" + name + "': use one of " + names);
    }

    /** Whether the input's and the weights' gradients are computed by separate actions. */
    public boolean splitsBackward() {
        return this == ZERO_BUBBLE || this == ZERO_BUBBLE_V;
    }

    /** The least number of stages of a rank at which the kind differs from the others. */
    public int leastStagesPerRank() {
        return this == INTERLEAVED || this == ZERO_BUBBLE_V ? 2 : 1;
    }

    /**
     * The schedule of this kind.
     *
     * @param ranks number of pipeline ranks, at least 1
     * @param stagesPerRank number of stages that each rank holds
     * @param microBatches number of micro-batches of a step
     * @throws ScheduleException if the kind has no schedule for these numbers; the message names the number to change
     */
    public PipelineSchedule schedule(int ranks, int stagesPerRank, int microBatches) {
        require(
                ranks >= 1 && stagesPerRank >= 1 && microBatches >= 1,
                "ranks, stages per rank and micro-batches must be at least 1");
        return switch (this) {
            case GPIPE -> {
                requireStages(stagesPerRank, 1);
                yield LoopedSchedules.allForwardThenAllBackward(ranks, microBatches);
            }
            case ONE_FORWARD_ONE_BACKWARD -> {
                requireStages(stagesPerRank, 1);
                requireMicroBatches(microBatches, ranks);
                yield LoopedSchedules.interleaved(ranks, 1, microBatches, false);
            }
            case INTERLEAVED, ZERO_BUBBLE -> {
                requireMicroBatches(microBatches, ranks);
                int rounds = Math.max(1, microBatches / ranks);
                require(
                        microBatches % rounds == 0,
                        microBatches + " micro-batches do not divide into " + rounds + " rounds: use a multiple of "
                                + ranks);
                yield LoopedSchedules.interleaved(ranks, stagesPerRank, microBatches, splitsBackward());
            }
            case ZERO_BUBBLE_V -> {
                requireStages(stagesPerRank, 2);
                yield VShapedSchedule.of(ranks, microBatches);
            }
        };
    }

    /**
     * The largest number of micro-batches whose activations {@code rank} holds at one time, counted once for each of
     * the rank's stages. The arguments must be arguments for which {@link #schedule} makes a schedule. For ZBV with
     * fewer than 2 ranks - 1 micro-batches the number is an upper bound.
     */
    public int peakLive(int rank, int ranks, int stagesPerRank, int microBatches) {
        int total = microBatches * stagesPerRank;
        int round = microBatches / Math.max(1, microBatches / ranks);
        int behind = ranks - 1 - rank;
        return switch (this) {
            case GPIPE -> total;
            case ONE_FORWARD_ONE_BACKWARD -> Math.min(total, behind + 1);
            case INTERLEAVED ->
                Math.min(total, (stagesPerRank - 1) * round + (stagesPerRank == 1 ? 1 : 2) * behind + 1);
            case ZERO_BUBBLE -> Math.min(total, (stagesPerRank - 1) * round + ranks);
            case ZERO_BUBBLE_V -> Math.min(total, 2 * ranks);
        };
    }

    private void requireStages(int stagesPerRank, int needed) {
        require(
                stagesPerRank == needed,
                "a rank holds " + needed + " stage" + (needed == 1 ? "" : "s") + ", not " + stagesPerRank);
    }

    private void requireMicroBatches(int microBatches, int ranks) {
        require(
                microBatches >= ranks,
                microBatches + " micro-batches are fewer than the " + ranks + " pipeline ranks: use at least " + ranks);
    }

    private void require(boolean holds, String rule) {
        if (!holds) {
            throw new ScheduleException("schedule " + text + ": " + rule);
        }
    }
}
