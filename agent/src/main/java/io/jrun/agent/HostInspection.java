package io.jrun.agent;

import io.jrun.agent.node.HostFacts;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.node.NodeResources;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.ResourceLimit;
import io.jrun.agent.worker.StartTools;
import java.util.List;

/** Collects the facts of this machine for {@code jrun doctor}. Stateless. */
public final class HostInspection {
    private HostInspection() {}

    /**
     * The facts of this machine. Takes up to 10 s on a machine with GPUs.
     *
     * @param version of jrun
     * @param names hosts whose names this machine should resolve
     * @param localAddress the address at which the launcher reaches this machine; empty on the launcher's own machine
     */
    public static Examination here(String version, List<String> names, String localAddress)
            throws InterruptedException {
        StartTools.Found tools = StartTools.find(System.getenv());
        NodeResources node = NodeProbe.probeHere();
        HostFacts.Space shm = HostFacts.sharedMemory();
        return Examination.newBuilder()
                .setVersion(version)
                .setJava(Runtime.version().toString())
                .setHost(node.host())
                .setAddress(localAddress)
                .setInterface(HostFacts.interfaceOf(localAddress))
                .setCores(node.cores())
                .setMemoryBytes(node.memoryBytes())
                .addAllGpus(node.gpus())
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
                .setClockMillis(System.currentTimeMillis())
                .build();
    }
}
