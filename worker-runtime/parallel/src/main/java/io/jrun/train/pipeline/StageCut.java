package io.jrun.train.pipeline;

import java.util.ArrayList;
import java.util.List;

/**
 * Divides the layers among the stages. Each stage has neighbouring layers, at least one. A pure function of its
 * arguments.
 *
 * @param starts number of the first layer of each stage, ascending from 0
 * @param layers number of all layers
 */
public record StageCut(List<Integer> starts, int layers) {
    /** Copies the list and checks it. */
    public StageCut {
        starts = List.copyOf(starts);
        for (int stage = 0; stage < starts.size(); stage++) {
            int end = stage + 1 < starts.size() ? starts.get(stage + 1) : layers;
            if (starts.get(stage) >= end || starts.getFirst() != 0) {
                throw new PipelineException("the stages begin at the layers " + starts + " of " + layers
                        + ": the first stage begins at layer 0, and each stage has at least one layer");
            }
        }
    }

    /** Stages of equal numbers of layers. If the number does not divide, the first stages have one more. */
    public static StageCut byCount(int layers, int stages) {
        requireEnough(layers, stages);
        List<Integer> starts = new ArrayList<>();
        for (int stage = 0; stage < stages; stage++) {
            starts.add(stage * (layers / stages) + Math.min(stage, layers % stages));
        }
        return new StageCut(starts, layers);
    }

    private static void requireEnough(int layers, int stages) {
        if (stages < 1 || layers < stages) {
            throw new PipelineException("a model of " + layers + " layers has no " + stages
                    + " stages: use fewer pipeline ranks or fewer virtual stages");
        }
    }

    /** Number of stages. */
    public int stages() {
        return starts.size();
    }

    /** The part of {@code all} that makes {@code stage}. */
    public <T> List<T> of(int stage, List<T> all) {
        return all.subList(starts.get(stage), stage + 1 < stages() ? starts.get(stage + 1) : layers);
    }

    /** The stage of a layer. */
    int stageOf(int layer) {
        int stage = 0;
        while (stage + 1 < stages() && starts.get(stage + 1) <= layer) {
            stage++;
        }
        return stage;
    }
}
