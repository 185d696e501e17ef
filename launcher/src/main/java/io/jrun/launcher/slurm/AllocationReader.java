package io.jrun.launcher.slurm;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads an {@link Allocation} from the environment: in a step from SLURM_STEP_*, because a step may have only a part of
 * the nodes; in a batch script or salloc from SLURM_JOB_*; in a heterogeneous job from the variables of each component.
 * Confined to one thread.
 */
final class AllocationReader {
    private static final Pattern GPUS = Pattern.compile("gpu:(?:[^:,()]+:)?([0-9]{1,4})(?:\\(.*)?");

    private final Map<String, String> environment;
    private final JobQuery scontrol;

    AllocationReader(Map<String, String> environment, JobQuery scontrol) {
        this.environment = environment;
        this.scontrol = scontrol;
    }

    Allocation read() {
        List<AllocatedNode> nodes = new ArrayList<>();
        int groups = StepVariables.areOwn(environment) ? 1 : Math.max(1, components());
        for (int group = 0; group < groups; group++) {
            readGroup(group, groups == 1 ? "" : "_HET_GROUP_" + group, nodes);
        }
        return new Allocation(
                text("SLURM_JOB_ID"),
                number("SLURM_RESTART_COUNT"),
                nodes,
                environment.containsKey("SLURM_GPUS_PER_TASK"));
    }

    /** The number of components of this job; 0 if it has no components, or if they belong to an outer job. */
    private int components() {
        String first = environment.getOrDefault("SLURM_JOB_ID_HET_GROUP_0", text("SLURM_JOB_ID"));
        return first.equals(text("SLURM_JOB_ID")) ? number("SLURM_HET_SIZE") : 0;
    }

    private void readGroup(int group, String suffix, List<AllocatedNode> nodes) {
        List<String> inJob = names("SLURM_JOB_NODELIST" + suffix);
        Map<String, Integer> cpus = byNode(inJob, RepeatedNumbers.of(text("SLURM_JOB_CPUS_PER_NODE" + suffix)));
        boolean isStep = StepVariables.areOwn(environment);
        List<String> names = isStep ? names("SLURM_STEP_NODELIST") : inJob;
        List<Integer> counts = isStep ? stepTasks(names.size()) : TaskCounts.of(environment, suffix, inJob.size());
        String unusable = UnusableRequests.of(environment, suffix, inJob.size(), isStep ? names.size() : 0);
        boolean knowsCpus =
                !UnusableRequests.isListUnusable(environment, "SLURM_JOB_CPUS_PER_NODE" + suffix, inJob.size());
        boolean oneTaskEach = counts.stream().allMatch(count -> count == 1);
        Map<String, Integer> tasks = byNode(names, counts);
        Map<String, Integer> gpus = gpus(names, suffix);
        for (String name : names) {
            nodes.add(new AllocatedNode(
                    name,
                    group,
                    tasks.getOrDefault(name, 0),
                    oneTaskEach,
                    gpus.getOrDefault(name, 0),
                    cpus.getOrDefault(name, 1),
                    knowsCpus ? number("SLURM_CPUS_PER_TASK" + suffix) : 0,
                    unusable));
        }
    }

    private List<Integer> stepTasks(int nodes) {
        String name = "SLURM_STEP_TASKS_PER_NODE";
        return UnusableRequests.isListUnusable(environment, name, nodes) ? List.of() : RepeatedNumbers.of(text(name));
    }

    /**
     * Reads GPUs from the environment. The environment has the GPUs of this node; it has those of all nodes if the job
     * requested a number for each node.
     */
    private Map<String, Integer> gpus(List<String> names, String suffix) {
        Map<String, Integer> gpus = new HashMap<>();
        String perNode = text("SLURM_GPUS_PER_NODE" + suffix);
        boolean here = environment.containsKey("SLURMD_NODENAME") && suffix.isEmpty();
        if (!perNode.isEmpty()) {
            int count = 0;
            for (String kind : perNode.split(",", -1)) {
                count += digits(kind.substring(kind.lastIndexOf(':') + 1));
            }
            int each = count;
            names.forEach(name -> gpus.put(name, each));
        } else if (here && names.equals(List.of(text("SLURMD_NODENAME")))) {
            gpus.put(names.getFirst(), number("SLURM_GPUS_ON_NODE"));
        } else if (!here || environment.containsKey("SLURM_GPUS_ON_NODE")) {
            String job = text("SLURM_JOB_ID" + suffix);
            readGpus(scontrol.words(job.isEmpty() ? text("SLURM_JOB_ID") : job), gpus);
        }
        return gpus;
    }

    /**
     * Reads {@code Nodes=n[1-2] CPU_IDs=0-3 Mem=0 GRES=gpu:h100:4(IDX:0-3)}, one line for nodes with equal resources.
     */
    private static void readGpus(List<String> words, Map<String, Integer> gpus) {
        List<String> names = List.of();
        for (String word : words) {
            if (word.startsWith("Nodes=")) {
                names = NodeNames.of("Nodes", word.substring("Nodes=".length()));
            } else if (word.startsWith("GRES=")) {
                int count = 0;
                for (String kind : word.substring("GRES=".length()).split(",(?=gpu:)", -1)) {
                    Matcher matcher = GPUS.matcher(kind);
                    count += matcher.matches() ? Integer.parseInt(matcher.group(1)) : 0;
                }
                for (String name : names) {
                    gpus.put(name, count);
                }
            }
        }
    }

    private static Map<String, Integer> byNode(List<String> names, List<Integer> numbers) {
        Map<String, Integer> counts = new HashMap<>();
        for (int at = 0; at < Math.min(names.size(), numbers.size()); at++) {
            counts.put(names.get(at), numbers.get(at));
        }
        return counts;
    }

    private List<String> names(String variable) {
        return NodeNames.of(variable, text(variable));
    }

    private int number(String variable) {
        return digits(text(variable));
    }

    private static int digits(String text) {
        return text.matches("[0-9]{1,8}") ? Integer.parseInt(text) : 0;
    }

    private String text(String variable) {
        return environment.getOrDefault(variable, "");
    }
}
