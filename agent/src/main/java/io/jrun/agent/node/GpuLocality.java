package io.jrun.agent.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The CPUs near the GPUs of this machine, by PCI device. Memory follows the CPUs: Linux allocates a page on the NUMA
 * node of the CPU that first writes the page. Immutable.
 *
 * @param root the folder with /proc, /sys and /dev
 * @param gpus by bus address
 * @param isOrdered whether CUDA counts the GPUs by bus address
 */
public record GpuLocality(Path root, List<PciGpu> gpus, boolean isOrdered) {
    private static final String DEVICES = "sys/bus/pci/devices";
    private static final int UNKNOWN = -1;

    public GpuLocality {
        gpus = List.copyOf(gpus);
    }

    /** The CPUs near a GPU, and their NUMA node. */
    public record NearCpus(int numaNode, List<Integer> cpus) {
        public NearCpus {
            cpus = List.copyOf(cpus);
        }
    }

    /**
     * Reads the GPUs of this machine. CUDA counts the fastest GPUs first, unless all are of one model or
     * CUDA_DEVICE_ORDER is PCI_BUS_ID.
     */
    public static GpuLocality probe(Path root, Map<String, String> environment) {
        List<PciGpu> gpus = PciGpu.probe(root);
        boolean isOrdered = "PCI_BUS_ID".equals(environment.get("CUDA_DEVICE_ORDER"))
                || gpus.stream().map(PciGpu::model).distinct().count() <= 1;
        return new GpuLocality(root, gpus, isOrdered);
    }

    /** The GPU of an entry of CUDA_VISIBLE_DEVICES; empty if unknown. A MIG slice lies on its GPU. */
    public Optional<PciGpu> find(String entry) {
        if (GpuList.isIndex(entry)) {
            int index = Integer.parseInt(entry);
            return isOrdered && index < gpus.size() ? Optional.of(gpus.get(index)) : Optional.empty();
        }
        String slice = "MIG-GPU-";
        String uuid = entry.startsWith(slice) ? entry.substring("MIG-".length()).replaceFirst("/.*", "") : entry;
        List<PciGpu> fitting = gpus.stream()
                .filter(gpu -> GpuList.startsWith(gpu.uuid(), uuid))
                .toList();
        return fitting.size() == 1 ? Optional.of(fitting.getFirst()) : Optional.empty();
    }

    /** The CPUs near a PCI device; empty if the machine does not say. */
    public Optional<NearCpus> near(String busId) {
        int numaNode = numaNode(root, busId);
        List<Integer> cpus =
                CpuMap.list(text(root.resolve(DEVICES).resolve(busId).resolve("local_cpulist")));
        return numaNode == UNKNOWN || cpus.isEmpty() ? Optional.empty() : Optional.of(new NearCpus(numaNode, cpus));
    }

    /** The NUMA node of a PCI device; -1 if the machine does not say. */
    public static int numaNode(Path root, String busId) {
        String number = text(root.resolve(DEVICES).resolve(busId).resolve("numa_node"));
        return number.matches("[0-9]{1,4}") ? Integer.parseInt(number) : UNKNOWN;
    }

    private static String text(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return ""; // a machine without PCI devices
        }
    }
}
