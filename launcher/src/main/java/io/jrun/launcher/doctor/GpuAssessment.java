package io.jrun.launcher.doctor;

import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.GpuFacts;
import io.jrun.agent.proto.GpuLink;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Judges the GPUs of a machine. Stateless. */
final class GpuAssessment {
    private static final int UNKNOWN = -1;
    private static final double GIBIBYTE = 1 << 30;

    private GpuAssessment() {}

    /** One result for all GPUs together, then one for each GPU, one for their links and one for the network variables. */
    static List<CheckResult> of(Examination facts) {
        List<CheckResult> found = new ArrayList<>();
        found.add(visible(facts).with("gpus", List.copyOf(facts.getGpusList())).with("driver", facts.getGpuDriver()));
        for (int index = 0; index < facts.getGpuFactsCount(); index++) {
            found.add(gpu(index, facts.getGpuFacts(index)));
        }
        if (!facts.getNvmlProblem().isEmpty()) {
            found.add(CheckResult.absent(
                    "nvml", facts.getNvmlProblem() + "; jobs on this machine have no metrics of their GPUs"));
        }
        if (facts.getGpuLinksCount() > 0) {
            found.add(links(facts));
        }
        if (facts.getNetworkVariablesCount() > 0) {
            found.add(CheckResult.ok("network", String.join(" ", facts.getNetworkVariablesList()))
                    .with("variables", List.copyOf(facts.getNetworkVariablesList())));
        }
        return found;
    }

    private static CheckResult visible(Examination facts) {
        String driver = facts.getGpuDriver().isEmpty() ? "unknown" : facts.getGpuDriver();
        if (!facts.getGpuProblem().isEmpty()) {
            return CheckResult.problem("gpus", facts.getGpuProblem() + "; driver " + driver);
        }
        if (facts.getGpusCount() > 0) {
            return CheckResult.ok(
                    "gpus",
                    facts.getGpusCount() + " visible: " + String.join(", ", facts.getGpusList()) + "; driver "
                            + driver);
        }
        return CheckResult.absent(
                "gpus",
                facts.getGpuDriver().isEmpty()
                        ? "none visible; --nproc-per-node=gpu will not work (no /dev/nvidia*)"
                        : "none visible, although driver " + driver
                                + " is installed; check that nvidia-smi lists the GPUs");
    }

    private static CheckResult gpu(int index, GpuFacts gpu) {
        List<String> words = new ArrayList<>(List.of(gpu.getName()));
        if (gpu.getMemoryBytes() != UNKNOWN) {
            words.add(String.format(Locale.ROOT, "%.1f GiB", gpu.getMemoryBytes() / GIBIBYTE));
        }
        words.add("PCI " + gpu.getBusId());
        words.add(gpu.getNumaNode() == UNKNOWN ? "NUMA node unknown" : "NUMA node " + gpu.getNumaNode());
        words.add(gpu.getUuid());
        if (!gpu.getPersistence().isEmpty()) {
            words.add("persistence mode " + gpu.getPersistence()
                    + (gpu.getPersistence().equals("off")
                            ? " (each first use of the GPU takes seconds; 'nvidia-smi -pm 1' changes it)"
                            : ""));
        }
        if (gpu.getMig().equals("on")) {
            words.add(
                    gpu.getSlicesCount() == 0
                            ? "MIG on, without slices, so no program can use the GPU"
                            : "MIG on: " + String.join(", ", gpu.getSlicesList()));
        }
        words.removeIf(String::isEmpty);
        return CheckResult.ok("gpu " + index, String.join(", ", words))
                .with("name", gpu.getName())
                .with("uuid", gpu.getUuid())
                .with("bus_id", gpu.getBusId())
                .with("memory_bytes", gpu.getMemoryBytes())
                .with("numa_node", gpu.getNumaNode())
                .with("persistence", gpu.getPersistence())
                .with("mig", gpu.getMig())
                .with("slices", List.copyOf(gpu.getSlicesList()));
    }

    private static CheckResult links(Examination facts) {
        Map<String, List<String>> pairs = new TreeMap<>();
        for (GpuLink link : facts.getGpuLinksList()) {
            pairs.computeIfAbsent(link.getPath(), _ -> new ArrayList<>()).add(link.getFirst() + "-" + link.getSecond());
        }
        int all = facts.getGpuLinksCount();
        List<String> words = pairs.entrySet().stream()
                .map(path -> path.getKey() + " between "
                        + (path.getValue().size() == all
                                ? all == 1 ? "the two GPUs" : "all pairs"
                                : String.join(" ", path.getValue())))
                .toList();
        return CheckResult.ok("gpu links", String.join("; ", words)).with("paths", new LinkedHashMap<>(pairs));
    }
}
