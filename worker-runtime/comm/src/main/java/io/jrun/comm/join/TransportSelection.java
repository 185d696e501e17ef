package io.jrun.comm.join;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.TransportKind;
import io.jrun.comm.group.GroupRegistry.FactorySource;
import io.jrun.comm.hierarchy.HierarchicalBackendFactory;
import io.jrun.comm.shm.ShmBackendFactory;
import io.jrun.comm.tcp.TcpBackendFactory;
import io.jrun.comm.tcp.TcpOptions;

/** Chooses a world's data plane. Only this class knows all data planes. */
public final class TransportSelection {
    private TransportSelection() {}

    /** Whether ranks need a listening socket before they join. */
    public static boolean needsListener(TransportKind kind, int nodeCount) {
        return kind == TransportKind.TCP || (kind == TransportKind.AUTO && nodeCount > 1);
    }

    /** @throws CommException USAGE if the transport does not support this number of nodes */
    static void check(TransportKind kind, int nodeCount) {
        if (kind == TransportKind.SHM && nodeCount > 1) {
            throw new CommException(
                    ErrorCode.USAGE,
                    "JRUN_TRANSPORT=shm with " + nodeCount
                            + " nodes: shared memory works only within a node. Use auto or tcp.");
        }
    }

    /**
     * Makes the data planes of a world.
     *
     * @param options options of the TCP data plane
     */
    public static FactorySource of(TransportKind kind, int nodeCount, TcpOptions options) {
        check(kind, nodeCount);
        if (needsListener(kind, nodeCount)) {
            return world -> {
                TcpBackendFactory tcp = TcpBackendFactory.start(world, options);
                return kind == TransportKind.TCP
                        ? tcp
                        : new HierarchicalBackendFactory(new ShmBackendFactory(world), tcp);
            };
        }
        return ShmBackendFactory::new;
    }
}
