package io.jrun.launcher.slurm;

import io.jrun.launcher.hostlist.HostList;
import io.jrun.launcher.hostlist.HostSyntaxException;
import io.jrun.launcher.job.Cluster.Host;
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
    /**
     * The first step id that Slurm uses itself, for the batch script or an interactive shell. Source: slurm/slurm.h.
     */
    private static final long FIRST_SPECIAL_STEP = 4_294_967_280L;

    private static final Pattern REPEATED = Pattern.compile("([0-9]{1,6})(?:\\(x([0-9]{1,6})\\))?");
    private static final Pattern GPUS = Pattern.compile("gpu:(?:[^:,()]+:)?([0-9]{1,4})(?:\\(.*)?");

    private final Map<String, String> environment;
    private final JobQuery scontrol;

    AllocationReader(Map<String, String> environment, JobQuery scontrol) {
        this.environment = environment;
        this.scontrol = scontrol;
    }

    Allocation read() {
        List<AllocatedNode> nodes = new ArrayList<>();
        int groups = isStep(environment) ? 1 : Math.max(1, number("SLURM_HET_SIZE"));
        for (int group = 0; group < groups; group++) {
            readGroup(group, groups == 1 ? "" : "_HET_GROUP_" + group, nodes);
        }
        return new Allocation(
                text("SLURM_JOB_ID"),
                number("SLURM_RESTART_COUNT"),
                nodes,
                environment.containsKey("SLURM_GPUS_PER_TASK"));
    }

    /** Whether jrun runs in a step of srun. */
    static boolean isStep(Map<String, String> environment) {
        String step = environment.getOrDefault("SLURM_STEP_ID", "");
        return step.matches("[0-9]{1,10}")
                && Long.parseLong(step) < FIRST_SPECIAL_STEP
                && environment.containsKey("SLURM_STEP_NODELIST");
    }

    private void readGroup(int group, String suffix, List<AllocatedNode> nodes) {
        List<String> inJob = names("SLURM_JOB_NODELIST" + suffix);
        Map<String, Integer> cpus = byNode(inJob, "SLURM_JOB_CPUS_PER_NODE" + suffix);
        List<String> names = isStep(environment) ? names("SLURM_STEP_NODELIST") : inJob;
        Map<String, Integer> gpus = gpus(names, suffix);
        for (String name : names) {
            nodes.add(new AllocatedNode(
                    name,
                    group,
                    number("SLURM_NTASKS_PER_NODE" + suffix),
                    gpus.getOrDefault(name, 0),
                    cpus.getOrDefault(name, 1),
                    number("SLURM_CPUS_PER_TASK" + suffix)));
        }
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
                names = expand(word.substring("Nodes=".length()));
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

    /** Expands {@code 16(x2),8} to a number for each node. */
    private Map<String, Integer> byNode(List<String> names, String variable) {
        Map<String, Integer> counts = new HashMap<>();
        int at = 0;
        for (String part : text(variable).split(",", -1)) {
            Matcher matcher = REPEATED.matcher(part);
            if (!matcher.matches()) {
                return counts;
            }
            int times = matcher.group(2) == null ? 1 : Integer.parseInt(matcher.group(2));
            for (int i = 0; i < times && at < names.size(); i++) {
                counts.put(names.get(at), Integer.parseInt(matcher.group(1)));
                at++;
            }
        }
        return counts;
    }

    private List<String> names(String variable) {
        String list = text(variable);
        try {
            return expand(list);
        } catch (HostSyntaxException e) {
            throw new AllocationException("Slurm's " + variable + "=" + list + " cannot be read: " + e.getMessage()
                    + "; name the hosts with --hosts, or run on this one with --launch=local.");
        }
    }

    private static List<String> expand(String list) {
        return HostList.parse(list).stream().map(Host::name).toList();
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
