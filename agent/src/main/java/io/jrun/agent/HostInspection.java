package io.jrun.agent;

import io.jrun.agent.node.HostFacts;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.node.NodeResources;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.ResourceLimit;
import io.jrun.agent.worker.StartTools;
import java.util.List;

/** What {@code jrun doctor} wants to know of a machine, looked up on that machine. Stateless. */
public final class HostInspection {
    private HostInspection() {}

    /**
     * This machine, as this process sees it; takes up to 10 s where GPUs must be listed.
     *
     * @param version jrun's
     * @param names hosts that it should know
     * @param localAddress of this machine's addresses, the one at which the launcher reaches it; empty on the
     *     launcher's own
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
                .setReachedAt(localAddress)
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
