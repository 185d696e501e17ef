package io.jrun.agent.node;

import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * The resources that Slurm has allocated to a job on this node, from the environment of the job's processes. On a
 * cluster without cgroups, jobs must keep to these resources themselves. Stateless.
 */
public final class SlurmStep {
    private static final long MEBIBYTE = 1 << 20;

    private static final String JOB = "SLURM_JOB_ID";
    private static final String CPUS = "SLURM_CPUS_ON_NODE";

    private SlurmStep() {}

    /** The number of the job's CPUs on this node; empty outside a job. */
    public static OptionalInt cpus(Map<String, String> environment) {
        int cpus = (int) number(environment, CPUS);
        return cpus > 0 ? OptionalInt.of(cpus) : OptionalInt.empty();
    }

    /** The job's memory on this node in bytes; empty without a limit or outside a job. */
    public static OptionalLong memoryBytes(Map<String, String> environment) {
        long perNode = number(environment, "SLURM_MEM_PER_NODE");
        long perCpu = number(environment, "SLURM_MEM_PER_CPU");
        long perGpu = number(environment, "SLURM_MEM_PER_GPU");
        long mebibytes = perNode > 0
                ? perNode
                : perCpu > 0 ? perCpu * number(environment, CPUS) : perGpu * number(environment, "SLURM_GPUS_ON_NODE");
        return mebibytes > 0 ? OptionalLong.of(mebibytes * MEBIBYTE) : OptionalLong.empty();
    }

    /** The number of the job's GPUs on this node; 0 if Slurm has counted none, or outside a job. */
    static int gpuCount(Map<String, String> environment) {
        int count = (int) number(environment, "SLURM_GPUS_ON_NODE");
        return count > 0 ? count : gpuNames(environment).size();
    }

    /**
     * The job's GPUs on this node by their numbers on the whole machine; empty if Slurm does not name them. The numbers
     * count for a program only if the program may open the machine's other GPUs too.
     */
    static List<String> gpuNames(Map<String, String> environment) {
        if (!environment.containsKey(JOB)) {
            return List.of();
        }
        for (String name : List.of("SLURM_STEP_GPUS", "SLURM_JOB_GPUS")) {
            List<String> gpus = GpuList.slurmIndices(environment.getOrDefault(name, ""));
            if (!gpus.isEmpty()) {
                return gpus;
            }
        }
        return List.of();
    }

    private static long number(Map<String, String> environment, String name) {
        String text = environment.getOrDefault(name, "");
        return environment.containsKey(JOB) && text.matches("[0-9]{1,9}") ? Long.parseLong(text) : 0;
    }
}
