package io.jrun.launcher.slurm;

import java.util.Map;
import java.util.Optional;

/**
 * Detects the mistake {@code srun -n8 jrun ...}: srun starts jrun once for each task, and each jrun would start the
 * whole job.
 */
public final class SrunPerTaskCheck {
    private SrunPerTaskCheck() {}

    /**
     * Returns the explanation if jrun was started in this way; an empty text for all tasks except the first.
     *
     * @return empty if jrun runs once
     */
    public static Optional<String> explain(Map<String, String> environment) {
        String tasks = environment.getOrDefault("SLURM_STEP_NUM_TASKS", "1");
        if (!StepVariables.areOwn(environment) || tasks.equals("1")) {
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
     * Returns the explanation for jruns of a rendezvous, of which each node may have one.
     *
     * @return empty if each node has one
     */
    public static Optional<String> explainRendezvous(Map<String, String> environment) {
        String tasks = environment.getOrDefault("SLURM_STEP_NUM_TASKS", "1");
        String nodes = environment.getOrDefault("SLURM_STEP_NUM_NODES", tasks);
        if (!StepVariables.areOwn(environment) || tasks.equals(nodes)) {
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
