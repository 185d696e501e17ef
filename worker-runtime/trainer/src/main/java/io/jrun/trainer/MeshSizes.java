package io.jrun.trainer;

import java.util.List;

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
    static MeshSizes of(List<String> commandLine, int ranks) {
        long tensor = size(commandLine, "--tp");
        long context = size(commandLine, "--cp");
        return new MeshSizes(
                ranks,
                tensor * context * size(commandLine, "--pp"),
                size(commandLine, "--dp"),
                tensor > 1,
                context > 1);
    }

    private static int size(List<String> commandLine, String option) {
        String value = "1";
        for (int i = 0; i < commandLine.size(); i++) {
            String word = commandLine.get(i);
            if (word.startsWith(option + "=")) {
                value = word.substring(option.length() + 1);
            } else if (word.equals(option) && i + 1 < commandLine.size()) {
                value = commandLine.get(i + 1);
            }
        }
        return value.matches("[1-9]\\d{0,4}") ? Integer.parseInt(value) : 1; // Other texts are refused later.
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
