package io.jrun.launcher.slurm;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Finds the variables of a job's requests that cannot be read or do not fit the nodes. jrun counts workers without
 * them, and then must not say that the job requested nothing. Stateless.
 */
final class UnusableRequests {
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,8}");

    private static final Pattern GPUS = Pattern.compile("(?:[^:,]+:)*[0-9]{1,4}(?:,(?:[^:,]+:)*[0-9]{1,4})*");

    private UnusableRequests() {}

    /**
     * Returns the variables with their values, in words; empty if all variables are usable.
     *
     * @param suffix the end of the variables' names for this component
     * @param inJob the number of nodes of the component
     * @param inStep the number of nodes of the step in which jrun runs, 0 outside a step
     */
    static String of(Map<String, String> environment, String suffix, int inJob, int inStep) {
        List<String> problems = new ArrayList<>();
        if (inStep > 0) {
            addList(problems, environment, "SLURM_STEP_TASKS_PER_NODE", inStep);
        } else {
            addList(problems, environment, "SLURM_TASKS_PER_NODE" + suffix, inJob);
            for (String name : List.of("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE")) {
                addOther(problems, environment, name + suffix, NUMBER);
            }
        }
        addOther(problems, environment, "SLURM_GPUS_PER_NODE" + suffix, GPUS);
        addOther(problems, environment, "SLURM_CPUS_PER_TASK" + suffix, NUMBER);
        if (environment.containsKey("SLURM_CPUS_PER_TASK" + suffix)) {
            addList(problems, environment, "SLURM_JOB_CPUS_PER_NODE" + suffix, inJob);
        }
        return String.join(", ", problems);
    }

    /** Whether the variable has a value, and not one for each node. */
    static boolean isListUnusable(Map<String, String> environment, String name, int nodes) {
        String value = environment.getOrDefault(name, "");
        return !value.isEmpty() && RepeatedNumbers.of(value).size() != nodes;
    }

    private static void addList(List<String> problems, Map<String, String> environment, String name, int nodes) {
        if (isListUnusable(environment, name, nodes)) {
            String value = environment.getOrDefault(name, "");
            int found = RepeatedNumbers.of(value).size();
            problems.add(name + "=" + value
                    + (found == 0
                            ? " cannot be read"
                            : " is for " + found + (found == 1 ? " node" : " nodes") + ", not " + nodes));
        }
    }

    private static void addOther(List<String> problems, Map<String, String> environment, String name, Pattern form) {
        String value = environment.getOrDefault(name, "");
        if (!value.isEmpty() && !form.matcher(value).matches()) {
            problems.add(name + "=" + value + " cannot be read");
        }
    }
}
