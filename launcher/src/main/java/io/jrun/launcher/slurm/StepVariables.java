package io.jrun.launcher.slurm;

import java.util.List;
import java.util.Map;

/**
 * Decides whether the variables of a step ({@code SLURM_STEP_*}) describe the step in which jrun runs. {@code sbatch} and
 * {@code salloc} in a step of another job hand on the variables of that step, beside the variables of the new job.
 * Stateless.
 */
final class StepVariables {
    /**
     * The first step id that Slurm uses itself, for the batch script or an interactive shell. Source: slurm/slurm.h.
     */
    private static final long FIRST_SPECIAL_STEP = 4_294_967_280L;

    /** Pairs that srun sets to equal values, and that sbatch and salloc set to values of the new job. */
    private static final Map<String, String> EQUAL_IN_A_STEP =
            Map.of("SLURM_NNODES", "SLURM_STEP_NUM_NODES", "SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE");

    private StepVariables() {}

    /** Whether jrun runs in a step that srun has started. */
    static boolean areOwn(Map<String, String> environment) {
        String step = environment.getOrDefault("SLURM_STEP_ID", "");
        return step.matches("[0-9]{1,10}")
                && Long.parseLong(step) < FIRST_SPECIAL_STEP
                && environment.containsKey("SLURM_STEP_NODELIST")
                && EQUAL_IN_A_STEP.entrySet().stream()
                        .allMatch(pair -> agree(environment, pair.getKey(), pair.getValue()))
                && isInJob(environment)
                && hasItsTasks(environment);
    }

    private static boolean agree(Map<String, String> environment, String job, String step) {
        String value = environment.get(job);
        return value == null || value.equals(environment.getOrDefault(step, value));
    }

    /** Whether all nodes of the step are nodes of the job. An unreadable list is reported by its reader. */
    private static boolean isInJob(Map<String, String> environment) {
        String job = environment.getOrDefault("SLURM_JOB_NODELIST", "");
        return job.isEmpty()
                || NodeNames.of("SLURM_JOB_NODELIST", job)
                        .containsAll(NodeNames.of(
                                "SLURM_STEP_NODELIST", environment.getOrDefault("SLURM_STEP_NODELIST", "")));
    }

    /**
     * Whether this process is one of as many tasks as the step has on this node. {@code SLURM_GTIDS} has the tasks of
     * this node; a batch script is task 0 alone.
     */
    private static boolean hasItsTasks(Map<String, String> environment) {
        String ids = environment.getOrDefault("SLURM_GTIDS", "");
        List<Integer> tasks = RepeatedNumbers.of(environment.getOrDefault("SLURM_STEP_TASKS_PER_NODE", ""));
        String node = environment.getOrDefault("SLURM_NODEID", "");
        if (ids.isEmpty() || !node.matches("[0-9]{1,8}") || Integer.parseInt(node) >= tasks.size()) {
            return true;
        }
        return ids.split(",", -1).length == tasks.get(Integer.parseInt(node));
    }
}
