package io.jrun.train.pipeline.schedule;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The check of a schedule before the first step. A schedule that passes the check ends, and computes each gradient
 * exactly once.
 */
public final class ScheduleCheck {
    private ScheduleCheck() {}

    /**
     * Checks that each stage computes each micro-batch once forward and once backward, that each action is on the rank
     * of its stage, that an action comes after the actions of its inputs, and that the programs end with blocking
     * sends.
     *
     * @throws ScheduleException if a check fails; the message names the action or the waiting ranks
     */
    public static void requireRunnable(PipelineSchedule schedule) {
        Set<PipelineAction> seen = new HashSet<>();
        for (int rank = 0; rank < schedule.ranks(); rank++) {
            for (PipelineAction action : schedule.programs().get(rank)) {
                if (!action.kind().computes()
                        || action.stage() >= schedule.stages()
                        || action.microBatch() >= schedule.microBatches()
                        || schedule.rankOf(action.stage()) != rank) {
                    throw new ScheduleException("rank " + rank + " cannot run " + action);
                }
                if (!seen.add(action)) {
                    throw new ScheduleException("rank " + rank + " runs " + action + " twice");
                }
            }
        }
        for (int stage = 0; stage < schedule.stages(); stage++) {
            for (int microBatch = 0; microBatch < schedule.microBatches(); microBatch++) {
                requireComplete(seen, stage, microBatch);
            }
        }
        requireEndWithBlockingSends(CommunicationProgram.of(schedule), schedule);
    }

    /**
     * Checks that no rank holds the activations of more micro-batches than the formula of the kind says.
     *
     * @throws ScheduleException naming the rank and both numbers
     */
    public static void requirePeakLive(ScheduleKind kind, PipelineSchedule schedule) {
        ScheduleSimulation simulation = ScheduleSimulation.of(schedule, ActionCosts.EQUAL);
        for (int rank = 0; rank < schedule.ranks(); rank++) {
            int stages = schedule.stagesOf(rank).size();
            int limit = kind.peakLive(rank, schedule.ranks(), stages, schedule.microBatches());
            if (simulation.peakLive(rank) > limit) {
                throw new ScheduleException("rank " + rank + " holds the activations of " + simulation.peakLive(rank)
                        + " micro-batches at one time; schedule " + kind.text() + " needs " + limit);
            }
        }
    }

    private static void requireComplete(Set<PipelineAction> seen, int stage, int microBatch) {
        require(seen, stage, ActionKind.FORWARD, microBatch);
        boolean full = seen.contains(new PipelineAction(stage, ActionKind.FULL_BACKWARD, microBatch));
        boolean input = seen.contains(new PipelineAction(stage, ActionKind.INPUT_BACKWARD, microBatch));
        boolean weight = seen.contains(new PipelineAction(stage, ActionKind.WEIGHT_BACKWARD, microBatch));
        if (full ? input || weight : !input && !weight) {
            throw new ScheduleException("stage " + stage + " needs one backward pass of micro-batch " + microBatch
                    + ": " + (full ? "the schedule has two" : "the schedule has none"));
        }
        if (!full) {
            require(seen, stage, ActionKind.INPUT_BACKWARD, microBatch);
            require(seen, stage, ActionKind.WEIGHT_BACKWARD, microBatch);
        }
    }

    private static void require(Set<PipelineAction> seen, int stage, ActionKind kind, int microBatch) {
        PipelineAction action = new PipelineAction(stage, kind, microBatch);
        if (!seen.contains(action)) {
            throw new ScheduleException("the schedule lacks " + action);
        }
    }

    /**
     * Simulates the programs with blocking sends: a send waits until the other rank has reached the matching receive.
     */
    static void requireEndWithBlockingSends(CommunicationProgram program, PipelineSchedule schedule) {
        List<Deque<PipelineAction>> left = new ArrayList<>();
        program.programs().forEach(actions -> left.add(new ArrayDeque<>(actions)));
        boolean progress = true;
        while (progress) {
            progress = false;
            for (Deque<PipelineAction> mine : left) {
                progress |= advance(mine, left, schedule);
            }
        }
        for (int rank = 0; rank < left.size(); rank++) {
            if (!left.get(rank).isEmpty()) {
                throw new ScheduleException("with blocking sends rank " + rank + " waits for ever at "
                        + left.get(rank).peek());
            }
        }
    }

    private static boolean advance(
            Deque<PipelineAction> mine, List<Deque<PipelineAction>> left, PipelineSchedule schedule) {
        boolean progress = false;
        for (PipelineAction next = mine.peek(); next != null; next = mine.peek()) {
            if (next.kind() == ActionKind.RECEIVE_FORWARD || next.kind() == ActionKind.RECEIVE_BACKWARD) {
                return progress; // The sender removes the send and the receive.
            }
            if (!next.kind().computes()) {
                boolean forward = next.kind() == ActionKind.SEND_FORWARD;
                int stage = next.stage() + (forward ? 1 : -1);
                ActionKind kind = forward ? ActionKind.RECEIVE_FORWARD : ActionKind.RECEIVE_BACKWARD;
                Deque<PipelineAction> theirs = left.get(schedule.rankOf(stage));
                if (!new PipelineAction(stage, kind, next.microBatch()).equals(theirs.peek())) {
                    return progress;
                }
                theirs.remove();
            }
            mine.remove();
            progress = true;
        }
        return progress;
    }
}
