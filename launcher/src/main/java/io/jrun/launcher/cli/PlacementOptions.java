package io.jrun.launcher.cli;

import io.jrun.launcher.hostlist.HostSyntaxException;
import io.jrun.launcher.hostlist.NodeChoice;
import io.jrun.launcher.job.BindTo;
import io.jrun.launcher.job.Cluster.Host;
import io.jrun.launcher.job.MapBy;
import io.jrun.launcher.job.PlacementRules;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.job.WorkerCount;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the choice of hosts, the number of workers on each host, the order of ranks and the CPU binding. */
final class PlacementOptions {
    /** Open MPI's "processes per resource". jrun accepts only the resource node. */
    private static final Pattern PER_NODE = Pattern.compile("ppr:([1-9][0-9]{0,3})(?::node)?");

    private static final String SLOT = "slot";
    private static final String NODE = "node";

    private final ResolvedOptions settings;

    private WorkerCount standard = new WorkerCount.ByDefault();

    PlacementOptions(ResolvedOptions settings) {
        this.settings = settings;
    }

    /** Sets the number of workers of this node for a job whose options name none. */
    void countHere(int workers) {
        standard = new WorkerCount.Exactly(workers);
    }

    /**
     * The placement rules of the job.
     *
     * @param hasHosts whether hosts are named; else the job runs on this machine alone
     */
    PlacementRules rules(boolean hasHosts) {
        OptionalInt total = hasHosts ? OptionalInt.empty() : total();
        WorkerCount perNode = total.isPresent() ? alone(total.getAsInt()) : workersPerNode();
        return new PlacementRules(perNode, mapBy(), bindTo());
    }

    /** The number of all workers; empty without such an option. */
    private OptionalInt total() {
        if (!settings.has(LaunchOption.NTASKS)) {
            return OptionalInt.empty();
        }
        if (settings.text(LaunchOption.NNODES, "1").contains(":")
                || !settings.text(LaunchOption.SPARES, "0").equals("0")) {
            throw new UsageException(settings.name(LaunchOption.NTASKS) + " counts the workers of all nodes, and the"
                    + " nodes of a job with --nnodes=MIN:MAX or --spares change. Give --nproc-per-node.");
        }
        return OptionalInt.of(OptionValues.count(
                settings.text(LaunchOption.NTASKS, ""), settings.name(LaunchOption.NTASKS), 1, WorkerCount.MAX_OF_JOB));
    }

    /** All workers on this machine. */
    private WorkerCount alone(int total) {
        Host here = new Host("this machine", slotsByOption());
        return new WorkerCount.Exactly(TotalWorkers.divide(total, List.of(here), mapBy(), totalName())
                .getFirst()
                .slots()
                .orElseThrow());
    }

    private String totalName() {
        return settings.name(LaunchOption.NTASKS);
    }

    /** The number of workers that an option gives each host without a number of its own. */
    private OptionalInt slotsByOption() {
        return switch (workersPerNode()) {
            case WorkerCount.Exactly(int count) -> OptionalInt.of(count);
            case WorkerCount.ByDefault() -> OptionalInt.empty();
            case WorkerCount.PerGpu(), WorkerCount.PerCore(), WorkerCount.Auto() ->
                throw new UsageException(totalName() + " and " + settings.name(LaunchOption.NPROC_PER_NODE) + " "
                        + workersPerNode().text() + " both count the workers. Leave one of the two out.");
        };
    }

    /** Divides {@code total} workers over {@code hosts}. */
    private List<Host> divided(int total, List<Host> hosts) {
        OptionalInt byOption = countingOption().isPresent() ? slotsByOption() : OptionalInt.empty();
        List<Host> counted = hosts.stream()
                .map(host -> new Host(
                        host.name(), host.slots().isPresent() ? host.slots() : byOption, host.gpus(), host.user()))
                .toList();
        List<Host> used = TotalWorkers.divide(total, counted, mapBy(), totalName());
        if (used.size() < hosts.size() && settings.has(LaunchOption.NNODES)) {
            throw new UsageException(totalName() + " " + total + " puts workers on " + used.size() + " of "
                    + hosts.size() + " hosts, but " + settings.name(LaunchOption.NNODES) + " is "
                    + settings.text(LaunchOption.NNODES, "") + ". Leave one of the two out.");
        }
        return used;
    }

    /** The option that sets the number of workers on each node; empty if no option sets it. */
    Optional<String> countingOption() {
        return settings.has(LaunchOption.NPROC_PER_NODE)
                ? Optional.of(settings.name(LaunchOption.NPROC_PER_NODE))
                : perNode().isPresent() ? Optional.of(settings.name(LaunchOption.MAP_BY)) : Optional.empty();
    }

    private WorkerCount workersPerNode() {
        OptionalInt perNode = perNode();
        String text = settings.text(LaunchOption.NPROC_PER_NODE, "");
        if (perNode.isPresent()) {
            if (settings.has(LaunchOption.NPROC_PER_NODE) && !text.equals(Integer.toString(perNode.getAsInt()))) {
                throw new UsageException(settings.name(LaunchOption.MAP_BY) + " and "
                        + settings.name(LaunchOption.NPROC_PER_NODE)
                        + " name different numbers of workers on each node; give one of them.");
            }
            return new WorkerCount.Exactly(perNode.getAsInt());
        }
        return settings.has(LaunchOption.NPROC_PER_NODE)
                ? workerCount(text, settings.name(LaunchOption.NPROC_PER_NODE))
                : standard;
    }

    static WorkerCount workerCount(String text, String name) {
        OptionValues.refuseLeadingZeros(text, name);
        try {
            return WorkerCount.of(text.strip());
        } catch (IllegalArgumentException e) {
            throw OptionValues.refused(
                    name, text, "auto, cpu, gpu, or a number of workers from 1 to " + WorkerCount.MAX);
        }
    }

    /**
     * The number of workers that this command sets for its own node; empty without such an option.
     *
     * @param nodes the number of nodes, each with a jrun of its own
     */
    Optional<WorkerCount> ownCount(int nodes) {
        OptionalInt total = total();
        if (total.isEmpty()) {
            return countingOption().map(_ -> workersPerNode());
        }
        if (total.getAsInt() % nodes != 0) {
            throw new UsageException(totalName() + ": " + total.getAsInt() + " workers cannot be divided equally over "
                    + nodes + " nodes, and with one jrun on each node all nodes need the same number. Give a multiple"
                    + " of " + nodes + ", or --nproc-per-node on each node.");
        }
        if (countingOption().isPresent()
                && !workersPerNode().equals(new WorkerCount.Exactly(total.getAsInt() / nodes))) {
            throw new UsageException(totalName() + " and " + countingOption().get()
                    + " name different numbers of workers. Leave one of the two out.");
        }
        return Optional.of(new WorkerCount.Exactly(total.getAsInt() / nodes));
    }

    private MapBy mapBy() {
        return settings.text(LaunchOption.MAP_BY, SLOT).equals(NODE) ? MapBy.NODE : MapBy.SLOT;
    }

    private OptionalInt perNode() {
        return perNode(settings.text(LaunchOption.MAP_BY, SLOT), settings.name(LaunchOption.MAP_BY));
    }

    /** The number in {@code --map-by ppr:N}. */
    static OptionalInt perNode(String text, String name) {
        if (text.equals(NODE) || text.equals(SLOT)) {
            return OptionalInt.empty();
        }
        Matcher matcher = PER_NODE.matcher(text);
        if (!matcher.matches() || Integer.parseInt(matcher.group(1)) > WorkerCount.MAX) {
            throw OptionValues.refused(
                    name, text, "node, slot, or ppr:N with a number of workers from 1 to " + WorkerCount.MAX);
        }
        return OptionalInt.of(Integer.parseInt(matcher.group(1)));
    }

    /** Reads torchrun's name of a binding. */
    static BindTo numaBinding(String text, String name) {
        return switch (text) {
            case "node" -> BindTo.GPU;
            case "exclusive" -> BindTo.CORE;
            default ->
                throw OptionValues.refused(
                        name, text, "node (--bind-to=gpu) or exclusive (--bind-to=core); jrun has no other binding");
        };
    }

    private BindTo bindTo() {
        if (settings.has(LaunchOption.NUMA_BINDING) && !settings.has(LaunchOption.BIND_TO)) {
            return numaBinding(settings.text(LaunchOption.NUMA_BINDING, ""), settings.name(LaunchOption.NUMA_BINDING));
        }
        return BindTo.valueOf(settings.text(LaunchOption.BIND_TO, "none").toUpperCase(Locale.ROOT));
    }

    /** Refuses a choice of hosts in a job without named hosts. */
    void refuseChoice() {
        for (LaunchOption option : List.of(LaunchOption.INCLUDE, LaunchOption.EXCLUDE)) {
            if (settings.has(option)) {
                throw new UsageException(settings.name(option) + " chooses among the hosts of --hosts, --hostfile or a"
                        + " Slurm allocation, and there are none here; for this machine's GPUs set"
                        + " CUDA_VISIBLE_DEVICES.");
            }
        }
    }

    /** Applies {@code --include} and {@code --exclude}: returns the chosen hosts with their numbers of workers. */
    List<Host> choose(List<Host> hosts) {
        if (settings.has(LaunchOption.INCLUDE) && settings.has(LaunchOption.EXCLUDE)) {
            throw new UsageException(settings.name(LaunchOption.INCLUDE) + " and " + settings.name(LaunchOption.EXCLUDE)
                    + " cannot both choose the hosts; give one of them.");
        }
        List<Host> chosen = perNode().isPresent() ? withRoomFor(perNode().getAsInt(), chosen(hosts)) : chosen(hosts);
        OptionalInt total = total();
        return total.isPresent() ? divided(total.getAsInt(), chosen) : chosen;
    }

    /** Refuses a GPU index that exceeds the number after the name of its host. */
    void checkCounted(List<Host> hosts) {
        for (LaunchOption option : List.of(LaunchOption.INCLUDE, LaunchOption.EXCLUDE)) {
            if (settings.has(option)) {
                try {
                    choice(settings.text(option, ""), settings.name(option)).checkCounted(hosts);
                } catch (HostSyntaxException e) {
                    throw new UsageException(settings.name(option) + ": " + e.getMessage() + ".");
                }
            }
        }
    }

    static NodeChoice choice(String text, String name) {
        try {
            return NodeChoice.parse(text);
        } catch (HostSyntaxException e) {
            throw new UsageException(name + ": " + e.getMessage() + ".");
        }
    }

    private List<Host> chosen(List<Host> hosts) {
        LaunchOption option = settings.has(LaunchOption.INCLUDE) ? LaunchOption.INCLUDE : LaunchOption.EXCLUDE;
        if (!settings.has(option)) {
            return hosts;
        }
        try {
            NodeChoice choice = choice(settings.text(option, ""), settings.name(option));
            return option == LaunchOption.INCLUDE ? choice.include(hosts) : choice.exclude(hosts);
        } catch (HostSyntaxException e) {
            throw new UsageException(settings.name(option) + ": " + e.getMessage() + ".");
        }
    }

    private List<Host> withRoomFor(int workers, List<Host> hosts) {
        return hosts.stream()
                .map(host -> {
                    if (host.slots().orElse(workers) < workers) {
                        throw new UsageException(settings.name(LaunchOption.MAP_BY) + ": " + workers + " workers on "
                                + host.name() + " are more than its "
                                + host.slots().getAsInt()
                                + " slots; give a smaller number, or more slots.");
                    }
                    return new Host(host.name(), OptionalInt.of(workers), host.gpus());
                })
                .toList();
    }
}
