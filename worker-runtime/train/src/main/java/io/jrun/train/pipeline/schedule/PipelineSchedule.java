package io.jrun.train.pipeline.schedule;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
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
