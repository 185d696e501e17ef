package io.jrun.launcher.layout;

import io.jrun.launcher.job.GpuSubset;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.MapBy;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.job.WorkerSettings.GpuVisibility;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.IntSummaryStatistics;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Places ranks on nodes, in node order: all local ranks of a node together, or one rank on each node in turn. Pure. */
public final class Layout {
    private static final int MOST_NOTICES = 3;

    private Layout() {}

    /**
     * Returns the rank map of the workers on {@code nodes}. The map has only the GPUs that the rules allow.
     *
     * @throws LayoutException if a node lacks requested GPUs
     */
    public static RankMap place(List<Node> nodes, LayoutRules rules) {
        List<Node> used = nodes.stream()
                .map(node -> withChosenGpus(node, rules.gpus().apply(node.nodeRank())))
                .toList();
        int[] slots = used.stream().mapToInt(node -> slots(node, rules)).toArray();
        long ranks = Arrays.stream(slots).asLongStream().sum();
        if (ranks > WorkerCount.MAX_OF_JOB) {
            throw new LayoutException("the job would have " + ranks + " ranks, and jrun starts at most "
                    + WorkerCount.MAX_OF_JOB
                    + ". Name fewer hosts or workers.");
        }
        List<Placement> placements = new ArrayList<>();
        if (rules.mapBy() == MapBy.NODE) {
            for (int localRank = 0; localRank < Arrays.stream(slots).max().orElse(0); localRank++) {
                for (int i = 0; i < slots.length; i++) {
                    if (localRank < slots[i]) {
                        placements.add(placement(placements.size(), used.get(i), localRank, rules));
                    }
                }
            }
        } else {
            for (int i = 0; i < slots.length; i++) {
                for (int localRank = 0; localRank < slots[i]; localRank++) {
                    placements.add(placement(placements.size(), used.get(i), localRank, rules));
                }
            }
        }
        return new RankMap(used, placements);
    }

    /**
     * Checks that the console's filters select a rank of {@code ranks}. If nodes may join later, checks the ranks that
     * may exist then.
     *
     * @throws LayoutException if the filters select no rank of the job
     */
    public static void checkFilters(RankMap ranks, JobSpec job) {
        OptionalInt reader = job.workers().stdin().rank();
        if (reader.isPresent() && reader.getAsInt() >= ranks.worldSize()) {
            throw new LayoutException("--stdin: the job has no rank " + reader.getAsInt() + "; its ranks are 0 to "
                    + (ranks.worldSize() - 1) + ".");
        }
        if (job.nodes().isElastic()) {
            checkFiltersOfLargestWorld(job);
            return;
        }
        boolean any =
                ranks.placements().stream().anyMatch(place -> job.console().selects(place.rank(), place.localRank()));
        if (!any) {
            int mostLocal = ranks.placements().stream()
                    .mapToInt(Placement::localRank)
                    .max()
                    .orElse(0);
            throw noRankSelected("the job has", ranks.worldSize(), mostLocal + 1);
        }
    }

    /** The largest world has the nodes with the most workers. */
    private static void checkFiltersOfLargestWorld(JobSpec job) {
        int nodes = job.cluster()
                .map(named -> named.hosts().size())
                .orElse(job.nodes().max());
        List<Integer> counts = IntStream.range(0, nodes)
                .mapToObj(job::workersOn)
                .flatMap(count -> count instanceof WorkerCount.Exactly(int exactly) ? Stream.of(exactly) : Stream.of())
                .sorted(Comparator.reverseOrder())
                .toList();
        if (counts.size() < nodes) {
            return; // only the nodes know their numbers of workers
        }
        int worldSize = counts.stream()
                .limit(job.nodes().max())
                .mapToInt(Integer::intValue)
                .sum();
        if (!job.console().selectsAnyBelow(worldSize, counts.getFirst())) {
            throw noRankSelected("with all of its nodes the job has", worldSize, counts.getFirst());
        }
    }

    private static LayoutException noRankSelected(String jobHas, int worldSize, int mostLocal) {
        return new LayoutException("--ranks-filter, --local-ranks-filter: the filter names no rank of this job, so the"
                + " console would show no output; "
                + jobHas + " ranks 0 to " + (worldSize - 1) + ", and on a node local ranks 0 to "
                + (mostLocal - 1)
                + ".");
    }

    private static Placement placement(int rank, Node node, int localRank, LayoutRules rules) {
        return new Placement(rank, node.nodeRank(), localRank, node.host(), devices(node, localRank, rules));
    }

    private static Node withChosenGpus(Node node, GpuSubset chosen) {
        List<Integer> missing = chosen.missing(node.gpus().size());
        if (!missing.isEmpty()) {
            throw new LayoutException((chosen.without() ? "--exclude: " : "--include: ") + node.host() + " has no GPU "
                    + missing.getFirst() + ", it has " + gpus(node) + ", counted from 0.");
        }
        return node.withGpus(chosen.of(node.gpus()));
    }

    private static int slots(Node node, LayoutRules rules) {
        int slots = slots(node, node.workers().orElseGet(() -> rules.workers().apply(node.nodeRank())));
        if (rules.visibility() == GpuVisibility.ONE && slots > node.gpus().size()) {
            throw new LayoutException("--gpu-visibility one: " + slots + " workers on " + node.host() + ", which has "
                    + gpus(node) + ". Lower --nproc-per-node, or use --gpu-visibility all.");
        }
        return slots;
    }

    /**
     * Returns one notice for each node on which several workers share a device, for users who chose no visibility.
     *
     * @param ranks placed with {@code visibility}
     */
    public static List<String> sharedDevices(RankMap ranks, GpuVisibility visibility) {
        List<String> notices = new ArrayList<>();
        for (Node node : ranks.nodes()) {
            int workers = ranks.onNode(node.nodeRank()).size();
            int devices = node.gpus().size();
            if (visibility == GpuVisibility.ONE_BY_DEFAULT && devices > 0 && workers > devices) {
                notices.add(workers + " workers share the " + gpus(node) + " of " + node.host() + ", up to "
                        + (workers + devices - 1) / devices + " on each (local ranks 0 and " + devices + " on GPU "
                        + node.gpus().getFirst() + "); --nproc-per-node=gpu starts one per GPU,"
                        + " --gpu-visibility=all shows every worker all of them");
            }
        }
        return notices;
    }

    /** Returns a notice for each node, up to 3, that has more workers than usable cores. */
    public static List<String> sharedCores(RankMap ranks) {
        List<Node> crowded = ranks.nodes().stream()
                .filter(node -> ranks.onNode(node.nodeRank()).size() > Math.max(1, node.cores()))
                .toList();
        List<String> notices = new ArrayList<>();
        for (Node node : crowded.subList(0, Math.min(crowded.size(), MOST_NOTICES))) {
            notices.add(ranks.onNode(node.nodeRank()).size() + " workers share the " + node.cores()
                    + (node.cores() == 1 ? " usable core of " : " usable cores of ") + node.host()
                    + "; fewer workers may be faster");
        }
        if (crowded.size() > MOST_NOTICES) {
            notices.add("the same on " + (crowded.size() - MOST_NOTICES) + " more nodes");
        }
        return notices;
    }

    /**
     * Returns a notice about the workers that no option has counted, one for each GPU; empty if there are no such
     * workers.
     *
     * @param isByDefault whether no option counts the workers of a node, by node rank
     */
    public static Optional<String> countedByGpus(RankMap ranks, IntPredicate isByDefault) {
        List<Node> nodes = ranks.nodes().stream()
                .filter(node -> node.workers().isEmpty() && isByDefault.test(node.nodeRank()))
                .filter(node -> node.gpus().size() > 1)
                .toList();
        if (nodes.isEmpty()) {
            return Optional.empty();
        }
        IntSummaryStatistics workers =
                nodes.stream().mapToInt(node -> node.gpus().size()).summaryStatistics();
        String count = workers.getMin() == workers.getMax()
                ? Integer.toString(workers.getMax())
                : workers.getMin() + " to " + workers.getMax();
        String where = nodes.size() == 1 ? nodes.getFirst().host() : "each of " + nodes.size() + " nodes";
        return Optional.of(count + " workers on " + where
                + ", one for each GPU, by default; --nproc-per-node=N sets another number");
    }

    private static int slots(Node node, WorkerCount count) {
        return switch (count) {
            case WorkerCount.Exactly(int exactly) -> exactly;
            case WorkerCount.PerCore() -> Math.max(1, node.cores());
            case WorkerCount.Auto() ->
                node.gpus().isEmpty() ? Math.max(1, node.cores()) : node.gpus().size();
            case WorkerCount.ByDefault() -> Math.max(1, node.gpus().size());
            case WorkerCount.PerGpu() -> {
                if (node.gpus().isEmpty()) {
                    throw new LayoutException("--nproc-per-node gpu: " + node.host()
                            + " has no GPU that jrun can see. Use a number, cpu or auto.");
                }
                yield node.gpus().size();
            }
        };
    }

    /**
     * Returns the devices of a worker. A worker that sees all GPUs of its node needs none, unless the job uses only
     * some of the GPUs.
     */
    private static String devices(Node node, int localRank, LayoutRules rules) {
        if (rules.visibility() == GpuVisibility.ALL) {
            return rules.gpus().apply(node.nodeRank()).isAll() ? "" : String.join(",", node.gpus());
        }
        return node.gpus().isEmpty()
                ? ""
                : node.gpus().get(localRank % node.gpus().size());
    }

    private static String gpus(Node node) {
        int count = node.gpus().size();
        return count == 0 ? "no GPU" : count == 1 ? "1 GPU" : count + " GPUs";
    }
}
