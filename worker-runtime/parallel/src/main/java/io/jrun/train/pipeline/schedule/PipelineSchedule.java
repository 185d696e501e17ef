package io.jrun.train.pipeline.schedule;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The computations of one training step, in order, for each pipeline rank.
 *
 * @param stageRanks pipeline rank that holds each stage
 * @param microBatches number of micro-batches of a step
 * @param programs actions of each pipeline rank, in the order in which the rank runs them
 */
public record PipelineSchedule(List<Integer> stageRanks, int microBatches, List<List<PipelineAction>> programs) {
    /** Copies the lists. */
    public PipelineSchedule {
        stageRanks = List.copyOf(stageRanks);
        programs = programs.stream().map(List::copyOf).toList();
    }

    /** Number of pipeline ranks. */
    public int ranks() {
        return programs.size();
    }

    /** Number of stages of the whole pipeline. */
    public int stages() {
        return stageRanks.size();
    }

    /** Pipeline rank that holds {@code stage}. */
    public int rankOf(int stage) {
        return stageRanks.get(stage);
    }

    /** Stages of {@code rank}, ascending. */
    public List<Integer> stagesOf(int rank) {
        List<Integer> stages = new ArrayList<>();
        for (int stage = 0; stage < stages(); stage++) {
            if (rankOf(stage) == rank) {
                stages.add(stage);
            }
        }
        return List.copyOf(stages);
    }

    /** One line for each rank: its actions, separated by spaces. */
    public String text() {
        return programs.stream().map(PipelineSchedule::line).collect(Collectors.joining("\n"));
    }

    /**
     * A schedule from its text: one line for each rank, as {@link #text()} and torch print it. The stages are on the
     * ranks that run their actions.
     *
     * @throws ScheduleException if a word is not an action, if a stage has no rank or two, or if there is no action
     */
    public static PipelineSchedule parse(String text) {
        List<List<PipelineAction>> programs =
                text.strip().lines().map(PipelineSchedule::parseLine).toList();
        TreeMap<Integer, Integer> stageRanks = new TreeMap<>();
        int microBatches = 0;
        for (int rank = 0; rank < programs.size(); rank++) {
            for (PipelineAction action : programs.get(rank)) {
                Integer other = stageRanks.put(action.stage(), rank);
                if (other != null && other != rank) {
                    throw new ScheduleException("stage " + action.stage() + " has actions on the ranks " + other
                            + " and " + rank + ": each stage is on one rank");
                }
                microBatches = Math.max(microBatches, action.microBatch() + 1);
            }
        }
        if (stageRanks.isEmpty() || stageRanks.lastKey() != stageRanks.size() - 1) {
            throw new ScheduleException("the schedule has actions of the stages " + stageRanks.keySet()
                    + ": stages are numbered from 0, without a gap");
        }
        return new PipelineSchedule(List.copyOf(stageRanks.values()), microBatches, programs);
    }

    /** The forward passes of this placement alone, for {@code count} micro-batches: an evaluation. */
    public PipelineSchedule forwardOnly(int count) {
        List<List<PipelineAction>> forwards = new ArrayList<>();
        for (int rank = 0; rank < ranks(); rank++) {
            List<PipelineAction> mine = new ArrayList<>();
            for (int stage : stagesOf(rank)) {
                IntStream.range(0, count).forEach(i -> mine.add(new PipelineAction(stage, ActionKind.FORWARD, i)));
            }
            forwards.add(mine);
        }
        return new PipelineSchedule(stageRanks, count, forwards);
    }

    /** Whether the input's and the weights' gradients are computed by separate actions. */
    public boolean splitsBackward() {
        return programs.stream().flatMap(List::stream).anyMatch(action -> action.kind() == ActionKind.INPUT_BACKWARD);
    }

    /** The actions of one line of {@link #text()}. A point is an idle slot in torch's text, and is skipped. */
    public static List<PipelineAction> parseLine(String line) {
        return Stream.of(line.strip().split("\\s+"))
                .filter(word -> !word.isEmpty() && !word.equals("."))
                .map(PipelineAction::parse)
                .toList();
    }

    private static String line(List<PipelineAction> program) {
        return program.stream().map(PipelineAction::toString).collect(Collectors.joining(" "));
    }
}
