package io.jrun.launcher.slurm;

/**
 * What a job has of one node.
 *
 * @param hetGroup which component of a heterogeneous job it belongs to, 0 in any other
 * @param tasks asked for with {@code --ntasks-per-node}, 0 if that was not given
 * @param cpusPerTask asked for with {@code --cpus-per-task}, 0 if that was not given
 */
public record AllocatedNode(String name, int hetGroup, int tasks, int gpus, int cpus, int cpusPerTask) {
    /** A number of workers, and where it comes from. */
    record Workers(int count, String from) {}

    /** The workers that this node gets unless {@code --nproc-per-node} says. */
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
        return new Workers(1, "one, since Slurm was asked for neither tasks, GPUs nor CPUs per task");
    }
}
