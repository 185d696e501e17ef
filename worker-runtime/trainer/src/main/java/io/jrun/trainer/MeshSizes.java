package io.jrun.trainer;

import io.jrun.trainer.arguments.CommandLineArguments;

/**
 * The ranks of a job, and the sizes of axes that its command line gives. A configuration of DeepSpeed has no such axes:
 * the ranks of the configuration are those that remain.
 *
 * @param ranks of the job
 * @param others product of the given sizes of --tp, --pp and --cp
 * @param copies given size of --dp, or 1
 * @param hasTensor whether --tp is given
 * @param hasContext whether --cp is given
 */
record MeshSizes(int ranks, long others, int copies, boolean hasTensor, boolean hasContext) {
    static MeshSizes of(ParallelOptions parallel, CommandLineArguments given, int ranks) {
        return new MeshSizes(
                ranks,
                (long) parallel.tensor() * parallel.context() * parallel.pipeline(),
                Math.max(1, parallel.copies()),
                given.has("--tp"),
                given.has("--cp"));
    }

    /** The same with an axis of the configuration. */
    MeshSizes with(long size) {
        long product = others > ranks ? others : others * size; // Beyond the ranks the product does not matter.
        return new MeshSizes(ranks, product, copies, hasTensor, hasContext);
    }

    /** Whether the given axes divide the ranks. */
    boolean fits() {
        return others <= ranks && ranks % others == 0;
    }

    /** The ranks that train on different samples: DeepSpeed's world size. */
    int dataRanks() {
        return Math.toIntExact(ranks / others);
    }
}
