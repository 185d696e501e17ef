package io.jrun.train.pipeline.schedule;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * A simulation of a schedule in exact units of time. A rank begins an action when the rank is idle and the required
 * earlier actions are done. Sending takes no time.
 */
public final class ScheduleSimulation {
    /** An action and the time at which it ends. */
    public record TimedAction(int rank, PipelineAction action, long end) {}

    private final PipelineSchedule schedule;
    private final ActionCosts costs;
    private final Map<PipelineAction, Long> ends = new HashMap<>();
    private final List<TimedAction> timeline = new ArrayList<>();
    private final int[] position;
    private final long[] clock;
    private final int[] live;
    private final int[] peakLive;

    private ScheduleSimulation(PipelineSchedule schedule, ActionCosts costs) {
        this.schedule = schedule;
        this.costs = costs;
        this.position = new int[schedule.ranks()];
        this.clock = new long[schedule.ranks()];
        this.live = new int[schedule.ranks()];
        this.peakLive = new int[schedule.ranks()];
    }

    /**
     * Simulates the schedule to its end.
     *
     * @throws ScheduleException if no rank can continue; the message names the waiting action of each rank
     */
    public static ScheduleSimulation of(PipelineSchedule schedule, ActionCosts costs) {
        ScheduleSimulation simulation = new ScheduleSimulation(schedule, costs);
        boolean progress = true;
        while (progress) {
            progress = false;
            for (int rank = 0; rank < schedule.ranks(); rank++) {
                progress |= simulation.advance(rank);
            }
        }
        simulation.requireEnd();
        simulation.timeline.sort(Comparator.comparingLong(TimedAction::end).thenComparingInt(TimedAction::rank));
        return simulation;
    }

    /** Time from the first action to the end of the last. */
    public long makespan() {
        return LongStream.of(clock).max().orElse(0);
    }

    /** The time in which {@code rank} does not compute, until the end of the makespan. */
    public long idle(int rank) {
        return makespan()
                - schedule.programs().get(rank).stream()
                        .mapToLong(action -> costs.of(action.kind()))
                        .sum();
    }

    /**
     * The largest number of micro-batches whose activations {@code rank} holds at one time, counted once for each of
     * its stages.
     */
    public int peakLive(int rank) {
        return peakLive[rank];
    }

    /** All actions by the time at which they end, then by rank. */
    public List<TimedAction> timeline() {
        return List.copyOf(timeline);
    }

    private boolean advance(int rank) {
        boolean progress = false;
        List<PipelineAction> program = schedule.programs().get(rank);
        while (position[rank] < program.size()) {
            PipelineAction action = program.get(position[rank]);
            OptionalLong ready = ready(action);
            if (ready.isEmpty()) {
                return progress;
            }
            clock[rank] = Math.max(clock[rank], ready.getAsLong()) + costs.of(action.kind());
            ends.put(action, clock[rank]);
            timeline.add(new TimedAction(rank, action, clock[rank]));
            countLive(rank, action.kind());
            position[rank]++;
            progress = true;
        }
        return progress;
    }

    private void countLive(int rank, ActionKind kind) {
        if (kind == ActionKind.FORWARD) {
            peakLive[rank] = Math.max(peakLive[rank], ++live[rank]);
        } else if (kind == ActionKind.FULL_BACKWARD || kind == ActionKind.WEIGHT_BACKWARD) {
            live[rank]--;
        }
    }

    /** The time at which all actions that {@code action} needs are done; empty if one of these actions is not done. */
    private OptionalLong ready(PipelineAction action) {
        int stage = action.stage();
        int microBatch = action.microBatch();
        return switch (action.kind()) {
            case FORWARD -> stage == 0 ? OptionalLong.of(0) : endOf(stage - 1, microBatch, ActionKind.FORWARD);
            case FULL_BACKWARD, INPUT_BACKWARD ->
                stage == schedule.stages() - 1
                        ? endOf(stage, microBatch, ActionKind.FORWARD)
                        : later(endOf(stage, microBatch, ActionKind.FORWARD), inputGradient(stage + 1, microBatch));
            case WEIGHT_BACKWARD -> endOf(stage, microBatch, ActionKind.INPUT_BACKWARD);
            case SEND_FORWARD, RECEIVE_FORWARD, SEND_BACKWARD, RECEIVE_BACKWARD ->
                throw new ScheduleException("a schedule holds computations only, not " + action);
        };
    }

    private OptionalLong inputGradient(int stage, int microBatch) {
        OptionalLong full = endOf(stage, microBatch, ActionKind.FULL_BACKWARD);
        return full.isPresent() ? full : endOf(stage, microBatch, ActionKind.INPUT_BACKWARD);
    }

    private OptionalLong endOf(int stage, int microBatch, ActionKind kind) {
        Long end = ends.get(new PipelineAction(stage, kind, microBatch));
        return end == null ? OptionalLong.empty() : OptionalLong.of(end);
    }

    private static OptionalLong later(OptionalLong first, OptionalLong second) {
        return first.isEmpty() || second.isEmpty()
                ? OptionalLong.empty()
                : OptionalLong.of(Math.max(first.getAsLong(), second.getAsLong()));
    }

    private void requireEnd() {
        List<String> waiting = IntStream.range(0, schedule.ranks())
                .filter(rank -> position[rank] < schedule.programs().get(rank).size())
                .mapToObj(rank ->
                        "rank " + rank + " at " + schedule.programs().get(rank).get(position[rank]))
                .toList();
        if (!waiting.isEmpty()) {
            throw new ScheduleException("the schedule is a deadlock: " + String.join(", ", waiting)
                    + " waits for an action that comes later or is missing");
        }
    }
}
