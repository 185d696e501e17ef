package io.jrun.train.pipeline.schedule;

import static io.jrun.train.pipeline.schedule.ActionKind.FORWARD;
import static io.jrun.train.pipeline.schedule.ActionKind.FULL_BACKWARD;
import static io.jrun.train.pipeline.schedule.ActionKind.INPUT_BACKWARD;
import static io.jrun.train.pipeline.schedule.ActionKind.WEIGHT_BACKWARD;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Schedules in which rank r holds the stages r, r + ranks, r + 2 ranks, ...: GPipe, 1F1B, interleaved 1F1B and ZB1P.
 * The order of actions equals the order of torch.distributed.pipelining.
 */
final class LoopedSchedules {
    private LoopedSchedules() {}

    static PipelineSchedule allForwardThenAllBackward(int ranks, int microBatches) {
        List<List<PipelineAction>> programs = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            int stage = rank;
            List<PipelineAction> program = new ArrayList<>();
            IntStream.range(0, microBatches).forEach(i -> program.add(new PipelineAction(stage, FORWARD, i)));
            IntStream.range(0, microBatches).forEach(i -> program.add(new PipelineAction(stage, FULL_BACKWARD, i)));
            programs.add(program);
        }
        return new PipelineSchedule(stageRanks(ranks, 1), microBatches, programs);
    }

    /** 1F1B with one or more stages a rank. With {@code splitBackward}, weights' gradients come later: ZB1P. */
    static PipelineSchedule interleaved(int ranks, int stagesPerRank, int microBatches, boolean splitBackward) {
        Order order = new Order(ranks, stagesPerRank, microBatches / Math.max(1, microBatches / ranks));
        int total = microBatches * stagesPerRank;
        List<List<PipelineAction>> programs = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            int perStage = stagesPerRank == 1 || splitBackward ? 1 : 2;
            int warmUp = Math.min(total, (stagesPerRank - 1) * order.round + perStage * (ranks - 1 - rank));
            int weightDelay = splitBackward ? rank : 0;
            programs.add(program(order, rank, total, warmUp, splitBackward, weightDelay));
        }
        return new PipelineSchedule(stageRanks(ranks, stagesPerRank), microBatches, programs);
    }

    /** A rank's program: forward passes, then alternating forward and backward passes, then backward passes. */
    private static List<PipelineAction> program(
            Order order, int rank, int total, int warmUp, boolean splitBackward, int weightDelay) {
        List<PipelineAction> program = new ArrayList<>();
        int backward = 0;
        for (int forward = 0; forward < total + warmUp; forward++) {
            if (forward < total) {
                program.add(order.forward(rank, forward));
            }
            if (forward >= warmUp) {
                program.add(order.backward(rank, backward, splitBackward ? INPUT_BACKWARD : FULL_BACKWARD));
                if (splitBackward && backward >= weightDelay) {
                    program.add(order.backward(rank, backward - weightDelay, WEIGHT_BACKWARD));
                }
                backward++;
            }
        }
        for (int weight = total - weightDelay; splitBackward && weight < total; weight++) {
            program.add(order.backward(rank, weight, WEIGHT_BACKWARD));
        }
        return program;
    }

    /** Rank of each stage: stage modulo ranks. */
    private static List<Integer> stageRanks(int ranks, int stagesPerRank) {
        return IntStream.range(0, ranks * stagesPerRank)
                .map(stage -> stage % ranks)
                .boxed()
                .toList();
    }

    /**
     * Maps the n-th pass of a rank to stage and micro-batch.
     *
     * @param round number of micro-batches that pass one stage before the rank turns to its next stage
     */
    private record Order(int ranks, int stagesPerRank, int round) {
        PipelineAction forward(int rank, int n) {
            return new PipelineAction(stage(rank, n / round % stagesPerRank), FORWARD, microBatch(n));
        }

        PipelineAction backward(int rank, int n, ActionKind kind) {
            return new PipelineAction(stage(rank, stagesPerRank - 1 - n / round % stagesPerRank), kind, microBatch(n));
        }

        private int stage(int rank, int local) {
            return local * ranks + rank;
        }

        private int microBatch(int n) {
            return n % round + n / (round * stagesPerRank) * round;
        }
    }
}
