package io.jrun.launcher;

import io.jrun.agent.node.GpuListException;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.node.NodeResources;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.worker.AgentOptions;
import io.jrun.agent.worker.JvmVariables;
import io.jrun.agent.worker.LaunchContext;
import io.jrun.agent.worker.Placeholders;
import io.jrun.agent.worker.WorkerBinding;
import io.jrun.agent.worker.WorkerCommand;
import io.jrun.launcher.coordinator.JobMessages;
import io.jrun.launcher.files.JobFiles;
import io.jrun.launcher.job.BindTo;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.Program;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.layout.Layout;
import io.jrun.launcher.layout.LayoutRules;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.layout.RankMap;
import io.jrun.launcher.report.DryRun;
import io.jrun.launcher.report.GpuTopology;
import io.jrun.launcher.report.NcclTopologyFile;
import io.jrun.launcher.report.RankMapJson;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

/** {@code --dry-run}: shows which rank would run where, with the code that also starts jobs. */
final class DryRunCommand {
    private DryRunCommand() {}

    /** Returns the rank map, as a table with short commands or as JSON with complete commands. */
    static List<String> describe(JobSpec job, Path home) {
        return job.cluster().isPresent() ? onHosts(job, job.cluster().get()) : here(job, home);
    }

    /**
     * Returns the rank map on hosts. A dry run asks no agent, so it works before agents run. The map lacks devices and
     * JVM options, which only agents know.
     */
    private static List<String> onHosts(JobSpec job, Cluster cluster) {
        List<Node> nodes = new ArrayList<>();
        int members = Math.min(cluster.hosts().size(), job.nodes().max());
        for (Cluster.Host host : cluster.hosts().subList(0, members)) {
            if (!(job.workersOn(nodes.size()) instanceof WorkerCount.Exactly)
                    && !job.isCountedByDefault(nodes.size())) {
                throw new UsageException("--dry-run: only the agent of " + host.name() + " knows how many workers"
                        + " --nproc-per-node means there. Give a number, or run the job.");
            }
            nodes.add(new Node(
                    nodes.size(),
                    host.name(),
                    host.name(),
                    0,
                    List.of(),
                    job.workers().masterPort()));
        }
        RankMap ranks = Layout.place(nodes, LayoutRules.withoutGpus(job));
        Layout.checkFilters(ranks, job);
        // Only the agents know the CPUs.
        List<String> binding = job.placement().bindTo() == BindTo.NONE ? List.of() : List.of("taskset", "-c", "...");
        List<List<String>> commands = shortCommands(job, ranks, _ -> binding);
        List<String> standingBy =
                cluster.names().subList(members, cluster.hosts().size());
        Optional<String> slurm = cluster.reach() instanceof Cluster.Slurm allocation
                ? Optional.of(allocation.words())
                : Optional.empty();
        JobFiles files = JobFiles.of(job);
        List<String> uncounted = nodes.stream()
                .filter(node -> job.isCountedByDefault(node.nodeRank()))
                .map(Node::host)
                .toList();
        if (job.json()) {
            return List.of(RankMapJson.of(
                    ranks.placements(),
                    commands,
                    new RankMapJson.HostNotes(job.nodes(), standingBy, uncounted, slurm, files),
                    job.workers().container()));
        }
        List<String> lines = new ArrayList<>(DryRun.table(ranks.placements(), commands));
        lines.addAll(DryRun.uncounted(uncounted));
        lines.addAll(DryRun.nodes(job.nodes(), standingBy));
        slurm.ifPresent(lines::add);
        lines.addAll(DryRun.files(files));
        lines.addAll(DryRun.network(job.workers().environment()));
        lines.addAll(DryRun.container(job.workers().container()));
        return lines;
    }

    private static List<String> here(JobSpec job, Path home) {
        NodeResources here = resources();
        Node node = new Node(
                0,
                here.host(),
                here.address(),
                here.cores(),
                here.gpus(),
                job.workers().masterPort());
        RankMap ranks = Layout.place(List.of(node), LayoutRules.of(job));
        Layout.checkFilters(ranks, job);
        LaunchRound launch = JobMessages.launch(job, ranks, ranks.nodes().getFirst(), 1, 0, Map.of());
        WorkerBinding binding = WorkerBinding.here(here.gpus(), JvmVariables.restored(System.getenv()));
        if (job.json()) {
            LaunchContext context = context(job, home, here);
            return List.of(RankMapJson.of(
                    ranks.placements(),
                    topology(ranks, binding),
                    launch.getWorkersList().stream()
                            .map(worker -> WorkerCommand.compose(launch, worker, context))
                            .toList(),
                    job.workers().container()));
        }
        List<List<String>> commands = shortCommands(
                job,
                ranks,
                place -> binding.words(launch.getBindTo(), place.gpu(), place.localRank(), launch.getWorkersCount()));
        List<String> lines = new ArrayList<>(DryRun.table(ranks.placements(), commands));
        Layout.countedByGpus(ranks, job::isCountedByDefault).ifPresent(lines::add);
        lines.addAll(Layout.sharedDevices(ranks, job.workers().gpuVisibility()));
        lines.addAll(Layout.sharedCores(ranks));
        lines.addAll(binding.problems(launch, here.host()));
        lines.addAll(topology(ranks, binding).lines());
        lines.addAll(DryRun.network(job.workers().environment()));
        lines.addAll(NcclTopologyFile.lines(
                job.workers().environment(), job.workers().workingDirectory()));
        lines.addAll(DryRun.container(job.workers().container()));
        return lines;
    }

    private static GpuTopology topology(RankMap ranks, WorkerBinding binding) {
        try {
            return GpuTopology.probe(ranks.placements(), binding);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while it read the GPUs", e);
        }
    }

    private static NodeResources resources() {
        try {
            return NodeProbe.probeHere();
        } catch (GpuListException e) {
            throw new UsageException(e.getMessage() + ".");
        }
    }

    private static LaunchContext context(JobSpec job, Path home, NodeResources here) {
        Path logs = job.logDirectory().resolve(job.runId());
        return new LaunchContext(
                here,
                AgentOptions.ofHome(home, Version.TEXT),
                job.runId(),
                logs,
                logs.resolve("agent.sock"),
                JvmVariables.restored(System.getenv()));
    }

    /** @param binding the words before the command of a worker */
    private static List<List<String>> shortCommands(
            JobSpec job, RankMap ranks, Function<Placement, List<String>> binding) {
        return ranks.placements().stream()
                .map(place -> Stream.concat(binding.apply(place).stream(), shortCommand(job.program(), place))
                        .toList())
                .toList();
    }

    /** Returns the short command. Only the arguments of the program have placeholders. */
    private static Stream<String> shortCommand(Program program, Placement place) {
        List<String> words = program.shortCommand();
        int own = words.size() - program.args().size();
        return Stream.concat(
                words.subList(0, own).stream(),
                Placeholders.expand(program.args(), place.rank(), place.localRank()).stream());
    }
}
