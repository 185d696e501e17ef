package io.jrun.agent.worker;

import io.jrun.agent.node.CpuMap;
import io.jrun.agent.node.GpuLocality;
import io.jrun.agent.node.PciGpu;
import io.jrun.agent.nvml.SliceAddresses;
import io.jrun.agent.proto.BindPolicy;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.WorkerSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * The CPUs of the workers of this node: of {@link CpuBinding}, or those near the worker's GPU. Immutable.
 *
 * @param gpus the GPUs of the node, as {@code NodeResources} has them
 * @param busIds the PCI address of a MIG slice by its name; empty if unknown
 */
public record WorkerBinding(
        List<String> gpus, CpuMap cpus, GpuLocality locality, Function<String, Optional<String>> busIds) {
    public WorkerBinding {
        gpus = List.copyOf(gpus);
    }

    /**
     * The binding on this machine. Reads /proc and /sys.
     *
     * @param environment the environment that workers inherit
     */
    public static WorkerBinding here(List<String> gpus, Map<String, String> environment) {
        return probe(Path.of("/"), gpus, environment, SliceAddresses::find);
    }

    /** The binding on the machine of a root folder. */
    public static WorkerBinding probe(
            Path root, List<String> gpus, Map<String, String> environment, Function<String, Optional<String>> busIds) {
        return new WorkerBinding(gpus, CpuMap.probe(root), GpuLocality.probe(root, environment), busIds);
    }

    /**
     * Returns the words before the command of a worker; none without a binding.
     *
     * @param gpu the worker's value of CUDA_VISIBLE_DEVICES; empty if the worker sees all GPUs of the node
     * @param workers the number of workers of this node
     */
    public List<String> words(BindPolicy bindTo, String gpu, int localRank, int workers) {
        if (bindTo != BindPolicy.BIND_POLICY_GPU) {
            return CpuBinding.words(bindTo, localRank, workers, cpus);
        }
        if (gpus.isEmpty()) {
            return CpuBinding.words(BindPolicy.BIND_POLICY_NUMA, localRank, workers, cpus);
        }
        return near(entry(gpu, localRank)).map(CpuBinding::words).orElse(List.of());
    }

    /** One line for each reason why workers of a round on this node are not bound as the user has requested. */
    public List<String> problems(LaunchRound launch, String host) {
        Set<String> problems = new LinkedHashSet<>();
        if (launch.getBindTo() != BindPolicy.BIND_POLICY_GPU) {
            return List.of();
        }
        if (gpus.isEmpty()) {
            problems.add("--bind-to=gpu: " + host + " has no GPU that jrun can see; its workers are bound to NUMA"
                    + " domains, as with --bind-to=numa");
        } else {
            for (WorkerSpec worker : launch.getWorkersList()) {
                String entry = entry(worker.getGpu(), worker.getLocalRank());
                if (near(entry).isEmpty()) {
                    problems.add("--bind-to=gpu: the workers of GPU " + entry + " on " + host + " are not bound: "
                            + why(entry));
                }
            }
        }
        return new ArrayList<>(problems);
    }

    /** The GPU of a worker. A worker that sees several GPUs uses the GPU of its local rank, as with torchrun. */
    private String entry(String gpu, int localRank) {
        List<String> own = gpu.isEmpty() ? gpus : List.of(gpu.split(",", -1));
        return own.get(localRank % own.size());
    }

    /**
     * The PCI address of a worker's GPU; empty if unknown.
     *
     * @param gpu as in {@link #words}
     */
    public Optional<String> busId(String gpu, int localRank) {
        return gpus.isEmpty() ? Optional.empty() : busId(entry(gpu, localRank));
    }

    private Optional<String> busId(String entry) {
        return locality.find(entry).map(PciGpu::busId).or(() -> busIds.apply(entry));
    }

    private Optional<List<Integer>> near(String entry) {
        return busId(entry)
                .flatMap(locality::near)
                .map(near -> near.cpus().stream().filter(cpus.all()::contains).toList())
                .filter(usable -> !usable.isEmpty());
    }

    private String why(String entry) {
        Optional<String> busId = busId(entry);
        if (busId.isEmpty()) {
            return locality.isOrdered()
                    ? "neither /proc/driver/nvidia/gpus nor NVML names its PCI device"
                    : "the GPUs are of several models, so their order is known only with CUDA_DEVICE_ORDER=PCI_BUS_ID";
        }
        Optional<GpuLocality.NearCpus> near = locality.near(busId.get());
        return near.isEmpty()
                ? "/sys/bus/pci/devices/" + busId.get() + " names no NUMA node"
                : "the agent may use none of the CPUs near it (NUMA node "
                        + near.get().numaNode() + ")";
    }
}
