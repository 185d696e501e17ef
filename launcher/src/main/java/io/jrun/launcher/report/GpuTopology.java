package io.jrun.launcher.report;

import io.jrun.agent.node.GpuLocality;
import io.jrun.agent.nvml.BoundedNvml;
import io.jrun.agent.nvml.NvmlException;
import io.jrun.agent.nvml.NvmlGpu;
import io.jrun.agent.nvml.NvmlLink;
import io.jrun.agent.worker.WorkerBinding;
import io.jrun.launcher.layout.Placement;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Where the GPUs of the ranks of this machine lie. Immutable.
 *
 * @param numaNodes the NUMA node of the GPU of a rank; ranks without a known node are absent
 * @param paths {@code NVLink}, or the name of nvidia-smi for a path over PCI, with the pairs of ranks such as 0-1, whose
 *     GPUs the path joins; empty without NVML. Ranks that share a GPU have the path {@value #SAME}
 */
public record GpuTopology(TreeMap<Integer, Integer> numaNodes, TreeMap<String, List<String>> paths) {
    private static final Path ROOT = Path.of("/");
    private static final String SAME = "same GPU";

    /** Reads the topology of this machine. Ranks whose GPU is unknown are left out. */
    public static GpuTopology probe(List<Placement> placements, WorkerBinding binding) throws InterruptedException {
        TreeMap<Integer, String> busIds = new TreeMap<>();
        TreeMap<Integer, Integer> numaNodes = new TreeMap<>();
        for (Placement place : placements) {
            Optional<String> busId = binding.busId(place.gpu(), place.localRank());
            if (busId.isPresent()) {
                busIds.put(place.rank(), busId.get());
                int numaNode = GpuLocality.numaNode(ROOT, busId.get());
                if (numaNode >= 0) {
                    numaNodes.put(place.rank(), numaNode);
                }
            }
        }
        return new GpuTopology(numaNodes, busIds.size() < 2 ? new TreeMap<>() : paths(busIds));
    }

    /** @param busIds by rank */
    private static TreeMap<String, List<String>> paths(TreeMap<Integer, String> busIds) throws InterruptedException {
        Map<Set<String>, String> links = links();
        TreeMap<String, List<String>> paths = new TreeMap<>();
        busIds.forEach((one, busId) -> busIds.tailMap(one, false).forEach((other, otherId) -> {
            String path = busId.equals(otherId) ? SAME : links.getOrDefault(Set.of(busId, otherId), "");
            if (!path.isEmpty() && !links.isEmpty()) {
                paths.computeIfAbsent(path, _ -> new ArrayList<>()).add(one + "-" + other);
            }
        }));
        return paths;
    }

    /** The paths by pairs of bus addresses; empty without NVML. */
    private static Map<Set<String>, String> links() throws InterruptedException {
        Map<Set<String>, String> links = new HashMap<>();
        Optional<BoundedNvml> here = BoundedNvml.here();
        if (here.isPresent()) {
            try (BoundedNvml nvml = here.get()) {
                List<NvmlGpu> gpus = nvml.gpus();
                for (NvmlLink link : nvml.links()) {
                    links.put(
                            Set.of(
                                    gpus.get(link.first()).busId(),
                                    gpus.get(link.second()).busId()),
                            link.path());
                }
            } catch (NvmlException _) {
                links.clear(); // 'jrun doctor' names the reason.
            }
        }
        return links;
    }

    /** One line about NUMA nodes and one about paths, each if something is known. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        TreeMap<Integer, List<String>> ranks = new TreeMap<>();
        numaNodes.forEach((rank, node) ->
                ranks.computeIfAbsent(node, _ -> new ArrayList<>()).add(rank.toString()));
        if (!ranks.isEmpty()) {
            List<String> words = new ArrayList<>();
            ranks.forEach((node, some) ->
                    words.add(node + (some.size() == 1 ? " (rank " : " (ranks ") + String.join(" ", some) + ")"));
            lines.add("NUMA nodes of the GPUs: " + String.join(", ", words));
        }
        if (!paths.isEmpty()) {
            String commonest = Collections.max(paths.keySet(), Comparator.comparingInt(this::pairs));
            List<String> words = new ArrayList<>();
            paths.forEach((path, pairs) -> words.add(path
                    + (path.equals(commonest) && pairs.size() > 1
                            ? paths.size() == 1 ? " (all pairs)" : " (the other pairs)"
                            : " (ranks " + String.join(" ", pairs) + ")")));
            lines.add("paths between the GPUs: " + String.join(", ", words));
        }
        return lines;
    }

    private int pairs(String path) {
        return Objects.requireNonNull(paths.get(path)).size();
    }

    /** The same for {@code --json}. */
    Map<String, Object> json() {
        Map<String, Object> nodes = new TreeMap<>();
        numaNodes.forEach((rank, node) -> nodes.put(rank.toString(), node));
        return Map.of("numaNodes", nodes, "paths", paths);
    }
}
