package io.jrun.agent;

import io.jrun.agent.node.GpuListException;
import io.jrun.agent.node.GpuLocality;
import io.jrun.agent.node.HostFacts;
import io.jrun.agent.node.NetworkVariables;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.node.NodeResources;
import io.jrun.agent.nvml.BoundedNvml;
import io.jrun.agent.nvml.NvmlException;
import io.jrun.agent.nvml.NvmlGpu;
import io.jrun.agent.nvml.NvmlLink;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.GpuFacts;
import io.jrun.agent.proto.GpuLink;
import io.jrun.agent.proto.ResourceLimit;
import io.jrun.agent.worker.StartTools;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Collects the facts of this machine for {@code jrun doctor}. Stateless. */
public final class HostInspection {
    private HostInspection() {}

    private static final Path ROOT = Path.of("/");

    /**
     * The facts of this machine. Takes up to 30 s on a machine with GPUs.
     *
     * @param version of jrun
     * @param names hosts whose names this machine should resolve
     * @param localAddress the address at which the launcher reaches this machine; empty on the launcher's own machine
     */
    public static Examination here(String version, List<String> names, String localAddress)
            throws InterruptedException {
        StartTools.Found tools = StartTools.find(System.getenv());
        HostFacts.Space shm = HostFacts.sharedMemory();
        Examination.Builder facts = Examination.newBuilder();
        addNode(facts);
        addGpus(facts);
        return facts.setVersion(version)
                .setJava(Runtime.version().toString())
                .setAddress(localAddress)
                .setInterface(HostFacts.interfaceOf(localAddress))
                .setGpuDriver(HostFacts.gpuDriver())
                .setShmFreeBytes(shm.free())
                .setShmBytes(shm.total())
                .addAllLimits(HostFacts.limits().stream()
                        .map(limit -> ResourceLimit.newBuilder()
                                .setName(limit.name())
                                .setSoft(limit.soft())
                                .setHard(limit.hard())
                                .build())
                        .toList())
                .addAllUnknownNames(HostFacts.unknown(names))
                .setTools(tools.versions())
                .setMissingTools(tools.missing())
                .setPortRange(HostFacts.portRange())
                .addAllRdmaDevices(HostFacts.rdmaDevices())
                .addAllNetworkVariables(NetworkVariables.texts(System.getenv()))
                .setClockMillis(System.currentTimeMillis())
                .build();
    }

    private static void addNode(Examination.Builder facts) {
        NodeResources node;
        try {
            node = NodeProbe.probeHere();
        } catch (GpuListException e) {
            facts.setGpuProblem(e.getMessage());
            node = NodeProbe.probeHereWithoutGpus();
        }
        facts.setHost(node.host())
                .setCores(node.cores())
                .setMemoryBytes(node.memoryBytes())
                .addAllGpus(node.gpus());
    }

    private static void addGpus(Examination.Builder facts) throws InterruptedException {
        Optional<BoundedNvml> here = BoundedNvml.here();
        if (here.isEmpty()) {
            return;
        }
        try (BoundedNvml nvml = here.get()) {
            for (NvmlGpu gpu : nvml.gpus()) {
                facts.addGpuFacts(GpuFacts.newBuilder()
                        .setName(gpu.name())
                        .setUuid(gpu.uuid())
                        .setBusId(gpu.busId())
                        .setMemoryBytes(gpu.memoryBytes())
                        .setNumaNode(GpuLocality.numaNode(ROOT, gpu.busId()))
                        .setPersistence(gpu.persistence())
                        .setMig(gpu.mig())
                        .addAllSlices(gpu.slices()));
            }
            for (NvmlLink link : nvml.links()) {
                facts.addGpuLinks(GpuLink.newBuilder()
                        .setFirst(link.first())
                        .setSecond(link.second())
                        .setPath(link.path()));
            }
        } catch (NvmlException e) {
            facts.setNvmlProblem(e.getMessage());
        }
    }
}
