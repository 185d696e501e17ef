package io.jrun.launcher.srun;

import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.registration.AgentLauncher;
import io.jrun.launcher.registration.JoinToken;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Starts agents with {@code srun}, one on each node of the allocation: one srun for all nodes, or one for each
 * component of a heterogeneous job. Stateless.
 */
public final class SrunAgentLauncher implements AgentLauncher {
    /**
     * Variables with options that srun would apply to itself: those of the batch job, of an outer job, and of the user.
     * Here each node has one task, which has all that the job has on this node. The agent needs its own stdin.
     */
    private static final List<String> NOT_FOR_AGENTS = List.of(
            "SLURM_CPUS_PER_TASK",
            "SRUN_CPUS_PER_TASK",
            "SLURM_CPUS_PER_GPU",
            "SLURM_TRES_PER_TASK",
            "SLURM_NTASKS",
            "SLURM_NPROCS",
            "SLURM_NTASKS_PER_NODE",
            "SLURM_NTASKS_PER_GPU",
            "SLURM_NTASKS_PER_SOCKET",
            "SLURM_NTASKS_PER_CORE",
            "SLURM_NTASKS_PER_TRES",
            "SLURM_GPUS_PER_TASK",
            "SLURM_GPU_BIND",
            "SLURM_TRES_BIND",
            "SLURM_CPU_BIND",
            "SLURM_MEM_BIND",
            "SLURM_DISTRIBUTION",
            "SLURM_DIST_PLANESIZE",
            "SLURM_ARBITRARY_NODELIST",
            "SLURM_HOSTFILE",
            "SLURM_EXACT",
            "SLURM_EXCLUSIVE",
            "SLURM_HINT",
            "SLURM_THREADS_PER_CORE",
            "SLURM_MULTI_PROG",
            "SLURM_STDINMODE",
            "SLURM_STDOUTMODE",
            "SLURM_STDERRMODE",
            "SLURM_LABELIO",
            "SLURM_KILL_BAD_EXIT",
            "SLURM_WAIT");

    /** The memory of the job in three forms. srun refuses two of them together, although one is of an outer job. */
    private static final List<String> MEMORY = List.of("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU");

    /**
     * Agents share the allocation with other steps and are bound to no CPUs. The end of one agent or the loss of a node
     * does not end the other agents, because jrun notices the loss itself.
     */
    private static final List<String> OPTIONS = List.of(
            "--ntasks-per-node=1",
            "--overlap",
            "--export=ALL",
            "--mpi=none",
            "--cpu-bind=none",
            "--kill-on-bad-exit=0",
            "--wait=0",
            "--no-kill");

    /** Words of srun when it has found no configuration, no controller, or no munge to talk to the controller. */
    private static final Pattern OUT_OF_REACH = Pattern.compile(
            "(?i).*(slurm controller|configuration (source|file)|munge|protocol authentication|fetch_config).*");

    private static final Pattern ERROR = Pattern.compile("srun: (?:fatal|error): (.*)");

    private final Cluster.Slurm allocation;
    private final Map<String, String> environment;

    /**
     * Starts agents in this allocation.
     *
     * @param environment the environment in which srun will run
     */
    public SrunAgentLauncher(Cluster.Slurm allocation, Map<String, String> environment) {
        this.allocation = allocation;
        this.environment = Map.copyOf(environment);
    }

    @Override
    public List<LaunchCommand> plan(List<String> hosts, List<Integer> nodes, JoinToken token) {
        Map<Integer, List<Integer>> byGroup = new TreeMap<>();
        for (int node : nodes) {
            byGroup.computeIfAbsent(allocation.hetGroups().getOrDefault(hosts.get(node), 0), _ -> new ArrayList<>())
                    .add(node);
        }
        List<LaunchCommand> starts = new ArrayList<>();
        byGroup.forEach((group, members) -> {
            List<String> choice = allocation.hetGroups().isEmpty() ? List.of() : List.of("--het-group=" + group);
            starts.add(new LaunchCommand("srun", members, command(choice, members, hosts, token)));
        });
        return starts;
    }

    /**
     * Starts srun in a session of its own, because Ctrl-C is for jrun only. A signal would make srun kill agents and
     * workers at once. An srun whose agents have joined therefore gets no signal, and ends after its agents.
     */
    private List<String> command(List<String> group, List<Integer> members, List<String> hosts, JoinToken token) {
        List<String> names = members.stream().map(hosts::get).toList();
        List<String> command = new ArrayList<>(List.of("setsid", "env"));
        NOT_FOR_AGENTS.forEach(variable -> command.addAll(List.of("-u", variable)));
        if (MEMORY.stream().filter(environment::containsKey).count() > 1) {
            MEMORY.forEach(variable -> command.addAll(List.of("-u", variable)));
        }
        command.add("srun");
        command.addAll(group);
        command.addAll(OPTIONS);
        Set<Integer> gpus = new HashSet<>();
        names.forEach(name -> gpus.add(allocation.taskGpus().getOrDefault(name, 0)));
        if (gpus.size() == 1 && !gpus.contains(0)) {
            command.add("--gpus-per-node=" + gpus.iterator().next());
        }
        command.addAll(List.of("--nodes=" + names.size(), "--ntasks=" + names.size()));
        command.add("--nodelist=" + String.join(",", names));
        // sh may drop variables whose names are no identifiers; the workers need them
        command.addAll(List.of("/bin/bash", "-p", "-c", script(members, hosts, token), allocation.jrun()));
        return command;
    }

    @Override
    public String explain(LaunchCommand start, LaunchExit ended) {
        List<String> lines = ended.lastLines();
        if (lines.stream()
                .noneMatch(line -> ERROR.matcher(line).matches()
                        && OUT_OF_REACH.matcher(line).matches())) {
            return AgentLauncher.super.explain(start, ended);
        }
        String error = lines.stream()
                .filter(line -> line.startsWith("srun: fatal: "))
                .findFirst()
                .or(() -> lines.stream()
                        .filter(line -> ERROR.matcher(line).matches())
                        .findFirst())
                .orElseThrow();
        return "srun has no contact with Slurm's controller or configuration from here ("
                + ERROR.matcher(error).replaceFirst("$1")
                + "); run jrun where srun works, or start without srun: --launch=ssh with --hosts, or --launch=local for"
                + " this machine alone";
    }

    /** The script of all tasks. Each task finds its node in Slurm's variables. */
    private static String script(List<Integer> members, List<String> hosts, JoinToken token) {
        StringBuilder script = new StringBuilder("case $SLURMD_NODENAME in ");
        for (int node : members) {
            script.append(hosts.get(node))
                    .append(") node=")
                    .append(JoinToken.node(node))
                    .append(";; ");
        }
        script.append("esac; exec \"$0\"");
        token.words("$node").forEach(word -> script.append(" \"").append(word).append('"'));
        return script.toString();
    }
}
