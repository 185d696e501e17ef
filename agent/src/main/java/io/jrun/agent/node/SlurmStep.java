package io.jrun.agent.node;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.IntStream;

/**
 * The resources that Slurm has allocated to a job on this node, from the environment of the job's processes. On a
 * cluster without cgroups, jobs must keep to these resources themselves. Stateless.
 */
public final class SlurmStep {
    private static final long MEBIBYTE = 1 << 20;

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

    /**
     * The job's GPUs on this node; empty if Slurm has counted none. The environment of a step may lack the names of its
     * GPUs.
     */
    static Optional<List<String>> gpus(Map<String, String> environment) {
        int count = (int) number(environment, "SLURM_GPUS_ON_NODE");
        if (count == 0) {
            return Optional.empty();
        }
        String named = environment.get("CUDA_VISIBLE_DEVICES");
        return Optional.of(
                named == null
                        ? IntStream.range(0, count).mapToObj(Integer::toString).toList()
                        : GpuProbe.chosen(named));
    }

    private static long number(Map<String, String> environment, String name) {
        String text = environment.getOrDefault(name, "");
        return environment.containsKey("SLURM_JOB_ID") && text.matches("[0-9]{1,9}") ? Long.parseLong(text) : 0;
    }
}
