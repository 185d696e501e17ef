package io.jrun.launcher.slurm;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * The tasks that a job has requested on each node of one component, as srun counts them: {@code SLURM_NTASKS} comes
 * before {@code SLURM_NTASKS_PER_NODE}, which then is a limit. Slurm writes {@code SLURM_TASKS_PER_NODE} anew for each
 * job, but leaves the other two of an outer job. A number that contradicts {@code SLURM_TASKS_PER_NODE} is therefore not
 * this job's. Without a request {@code SLURM_TASKS_PER_NODE} has the number of CPUs. Stateless.
 */
final class TaskCounts {
    private TaskCounts() {}

    /**
     * Returns the tasks of each node in order, empty if the job has requested none.
     *
     * @param suffix the end of the variables' names for this component
     * @param nodes the number of nodes
     */
    static List<Integer> of(Map<String, String> environment, String suffix, int nodes) {
        int total = number(environment, "SLURM_NTASKS" + suffix, "SLURM_NPROCS" + suffix);
        int each = number(environment, "SLURM_NTASKS_PER_NODE" + suffix);
        List<Integer> settled = RepeatedNumbers.of(environment.getOrDefault("SLURM_TASKS_PER_NODE" + suffix, ""));
        if (settled.size() == nodes) {
            int sum = settled.stream().mapToInt(Integer::intValue).sum();
            boolean isLimit = each > 0 && Collections.frequency(settled, each) == nodes;
            if (total == sum || (total == 0 && isLimit)) {
                return settled;
            }
            return isLimit && total < sum ? spread(total, nodes) : List.of();
        }
        return total == 0 || (each > 0 && total > each * nodes)
                ? Collections.nCopies(each > 0 ? nodes : 0, each)
                : spread(total, nodes);
    }

    /** Shares {@code total} tasks out equally; the first nodes have one more. Empty if a node would have none. */
    private static List<Integer> spread(int total, int nodes) {
        List<Integer> tasks = new ArrayList<>();
        for (int node = 0; node < nodes && total >= nodes; node++) {
            tasks.add(total / nodes + (node < total % nodes ? 1 : 0));
        }
        return tasks;
    }

    private static int number(Map<String, String> environment, String... names) {
        for (String name : names) {
            String text = environment.getOrDefault(name, "");
            if (text.matches("[0-9]{1,8}")) {
                return Integer.parseInt(text);
            }
        }
        return 0;
    }
}
