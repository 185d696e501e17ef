package io.jrun.launcher.slurm;

import java.util.Map;
import java.util.Optional;

/** The mistake {@code srun -n8 jrun ...}: srun starts jrun once for each task, and each would start the whole job. */
public final class SrunPerTaskCheck {
    private SrunPerTaskCheck() {}

    /**
     * What to say, if jrun was started so: to all tasks but the first, nothing.
     *
     * @return empty where jrun runs once
     */
    public static Optional<String> explain(Map<String, String> environment) {
        String tasks = environment.getOrDefault("SLURM_STEP_NUM_TASKS", "1");
        if (!AllocationReader.isStep(environment) || tasks.equals("1")) {
            return Optional.empty();
        }
        return first(
                environment,
                "srun has started jrun " + tasks
                        + " times, once for each task, and jrun starts all workers of a"
                        + " job by itself. Leave srun out: 'jrun train.jar' in the batch script or salloc. (One"
                        + " jrun on each node needs --nnodes and --rdzv-endpoint; several jobs, --launch=local.)");
    }

    /**
     * The same for jruns that meet, of which each node may have one.
     *
     * @return empty where each node has one
     */
    public static Optional<String> explainMeeting(Map<String, String> environment) {
        String tasks = environment.getOrDefault("SLURM_STEP_NUM_TASKS", "1");
        String nodes = environment.getOrDefault("SLURM_STEP_NUM_NODES", tasks);
        if (!AllocationReader.isStep(environment) || tasks.equals(nodes)) {
            return Optional.empty();
        }
        return first(
                environment,
                "srun has started jrun " + tasks + " times on " + nodes
                        + (nodes.equals("1") ? " node" : " nodes")
                        + ", and jrun starts all workers of a node by itself. Start one on each node: srun --ntasks="
                        + nodes + " --ntasks-per-node=1.");
    }

    private static Optional<String> first(Map<String, String> environment, String words) {
        return Optional.of(environment.getOrDefault("SLURM_PROCID", "0").equals("0") ? words : "");
    }
}
