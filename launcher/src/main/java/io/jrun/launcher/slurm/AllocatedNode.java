package io.jrun.launcher.slurm;

/**
 * The resources that Slurm allocated on one node.
 *
 * @param hetGroup the component of a heterogeneous job, 0 in any other job
 * @param tasks the tasks that the job requested on this node, 0 if it requested none
 * @param oneTaskEach whether the job requested one task on each node of the component
 * @param cpusPerTask the value of {@code --cpus-per-task}, 0 if not given or of no use
 * @param unusable the variables of requests that jrun could not use, in words; empty if there are none
 */
public record AllocatedNode(
        String name,
        int hetGroup,
        int tasks,
        boolean oneTaskEach,
        int gpus,
        int cpus,
        int cpusPerTask,
        String unusable) {
    /** A number of workers, and the rule that gave the number. */
    record Workers(int count, String from) {}

    /**
     * The workers of this node without {@code --nproc-per-node}. One task on each node is the usual request for a
     * launcher that starts a worker for each GPU itself, so GPUs come before it.
     */
    Workers workers() {
        if (tasks > 0 && !(oneTaskEach && gpus > 0)) {
            return new Workers(tasks, "one for each task that the job requested from Slurm");
        }
        if (gpus > 0) {
            return new Workers(gpus, "one for each GPU of the allocation");
        }
        if (cpusPerTask > 0) {
            return new Workers(Math.max(1, cpus / cpusPerTask), "its CPUs divided by --cpus-per-task");
        }
        if (!unusable.isEmpty()) {
            return new Workers(
                    1, "one, because " + unusable + ", and no other variable names tasks, GPUs or CPUs per task");
        }
        return new Workers(1, "one, because the job requested neither tasks, GPUs nor CPUs per task");
    }
}
