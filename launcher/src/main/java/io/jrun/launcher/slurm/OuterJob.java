package io.jrun.launcher.slurm;

import java.util.Set;

/**
 * The variables of the job, step or worker in which {@code jrun submit} runs. sbatch hands all variables on, and the new
 * job would take these for its own. Stateless.
 */
public final class OuterJob {
    /** Settings of Slurm's commands. */
    private static final Set<String> SETTINGS = Set.of(
            "SLURM_CONF",
            "SLURM_CONF_SERVER",
            "SLURM_CLUSTERS",
            "SLURM_HINT",
            "SLURM_JWT",
            "SLURM_DEBUG_FLAGS",
            "SLURM_EXIT_ERROR",
            "SLURM_TIME_FORMAT");

    /** Variables that make a jrun in a worker use its own node alone. */
    private static final Set<String> OF_A_WORKER = Set.of("JRUN_AGENT_SOCKET", "JRUN_WORKER_TOKEN");

    private OuterJob() {}

    /** Whether a new job must not have this variable. */
    public static boolean describes(String variable) {
        return (variable.matches("(SLURM|SLURMD|SRUN)_.*") && !SETTINGS.contains(variable))
                || OF_A_WORKER.contains(variable);
    }
}
