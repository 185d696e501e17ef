package io.jrun.launcher.slurm;

/**
 * The resources that Slurm allocated on one node.
 *
 * @param hetGroup the component of a heterogeneous job, 0 in any other job
 * @param tasks the value of {@code --ntasks-per-node}, 0 if not given
 * @param cpusPerTask the value of {@code --cpus-per-task}, 0 if not given
 */
public record AllocatedNode(String name, int hetGroup, int tasks, int gpus, int cpus, int cpusPerTask) {
    /** A number of workers, and the rule that gave the number. */
    record Workers(int count, String from) {}

    /** The workers of this node without {@code --nproc-per-node}. */
    Workers workers() {
        if (tasks > 1) {
            return new Workers(tasks, "one for each of Slurm's tasks (--ntasks-per-node)");
        }
        if (gpus > 0) {
            return new Workers(gpus, "one for each GPU of the allocation");
        }
        if (cpusPerTask > 0) {
            return new Workers(Math.max(1, cpus / cpusPerTask), "its CPUs divided by --cpus-per-task");
        }
        return new Workers(1, "one, because the job requested neither tasks, GPUs nor CPUs per task");
    }
}
