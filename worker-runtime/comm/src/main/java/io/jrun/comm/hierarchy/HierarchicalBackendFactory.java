package io.jrun.comm.hierarchy;

import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.BackendFactory;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.shm.ShmBackendFactory;
import io.jrun.comm.tcp.TcpBackendFactory;

/**
 * Makes the backends of a world of several nodes: for each group shared memory if its members are on one node, TCP if
 * no two members share a node, else both. Thread-safe.
 */
public final class HierarchicalBackendFactory implements BackendFactory {
    private final ShmBackendFactory shm;
    private final TcpBackendFactory tcp;

    /** Makes a factory that owns the factories of both data planes. */
    public HierarchicalBackendFactory(ShmBackendFactory shm, TcpBackendFactory tcp) {
        this.shm = shm;
        this.tcp = tcp;
    }

    @Override
    public Backend create(GroupContext group) {
        Topology topology = Topology.of(group);
        if (topology.nodeCount() == 1) {
            return shm.create(group);
        }
        return topology.isOneRankPerNode() ? tcp.create(group) : new HierarchicalBackend(group, topology, shm, tcp);
    }

    @Override
    public void close() {
        tcp.close();
        shm.close();
    }
}
