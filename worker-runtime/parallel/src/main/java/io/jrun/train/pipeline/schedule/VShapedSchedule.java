package io.jrun.train.pipeline.schedule;

import static io.jrun.train.pipeline.schedule.ActionKind.FORWARD;
import static io.jrun.train.pipeline.schedule.ActionKind.INPUT_BACKWARD;
import static io.jrun.train.pipeline.schedule.ActionKind.WEIGHT_BACKWARD;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * ZBV: rank r holds the stages r and 2 ranks - 1 - r, so the first rank holds the first and the last stage. Source: Qi
 * et al. 2023, arXiv 2401.10241, section 6; the order of actions equals the order of torch.distributed.pipelining.
 */
final class VShapedSchedule {
    private final int ranks;
    private final int rank;
    private final int planned;
    private final List<PipelineAction> program = new ArrayList<>();
    /** Micro-batches done so far by kind, for the rank's first stage [0] and second stage [1]. */
    private final Map<ActionKind, int[]> done = new EnumMap<>(ActionKind.class);

    private VShapedSchedule(int ranks, int rank, int microBatches) {
        this.ranks = ranks;
        this.rank = rank;
        this.planned = Math.max(microBatches, 2 * ranks - 1);
    }

    static PipelineSchedule of(int ranks, int microBatches) {
        List<List<PipelineAction>> programs = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            programs.add(new VShapedSchedule(ranks, rank, microBatches)
                    .fill().stream()
                            .filter(action -> action.microBatch() < microBatches)
                            .toList());
        }
        List<Integer> stageRanks = IntStream.range(0, 2 * ranks)
                .map(stage -> Math.min(stage, 2 * ranks - 1 - stage))
                .boxed()
                .toList();
        return new PipelineSchedule(stageRanks, microBatches, programs);
    }

    private List<PipelineAction> fill() {
        repeat(2 * (ranks - rank) - 1, () -> next(FORWARD, 0));
        repeat(rank, () -> {
            next(FORWARD, 1);
            next(FORWARD, 0);
        });
        repeat(ranks - rank, () -> {
            next(FORWARD, 1);
            backward(1);
        });
        while (done(FORWARD)[1] < planned) {
            if (done(FORWARD)[0] < planned) {
                next(FORWARD, 0);
            }
            backward(0);
            next(FORWARD, 1);
            backward(1);
        }
        repeat(rank, () -> {
            next(INPUT_BACKWARD, 0);
            next(INPUT_BACKWARD, 1);
        });
        repeat(ranks - rank, () -> backward(0));
        repeat(planned - done(WEIGHT_BACKWARD)[1], () -> next(WEIGHT_BACKWARD, 1));
        repeat(planned - done(WEIGHT_BACKWARD)[0], () -> next(WEIGHT_BACKWARD, 0));
        return program;
    }

    private void backward(int chunk) {
        next(INPUT_BACKWARD, chunk);
        next(WEIGHT_BACKWARD, chunk);
    }

    private void next(ActionKind kind, int chunk) {
        int stage = chunk == 0 ? rank : 2 * ranks - 1 - rank;
        program.add(new PipelineAction(stage, kind, done(kind)[chunk]++));
    }

    private int[] done(ActionKind kind) {
        return done.computeIfAbsent(kind, _ -> new int[2]);
    }

    private static void repeat(int times, Runnable block) {
        for (int i = 0; i < times; i++) {
            block.run();
        }
    }
}
