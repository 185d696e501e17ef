package io.jrun.comm.join;

import io.jrun.comm.CommException;
import io.jrun.comm.Device;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.Metrics;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.Store;
import io.jrun.comm.World;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Control;
import io.jrun.comm.group.GroupRegistry;
import io.jrun.comm.store.StoreClient;

/** A world that this rank has joined. Thread-safe. */
public final class JoinedWorld implements World {
    private final WorldIdentity identity;
    private final Control control;
    private final GroupRegistry registry;
    private final ProcessGroup group;
    private final Store store;
    private final Metrics metrics;

    public JoinedWorld(
            WorldIdentity identity,
            WorldContext context,
            Control control,
            GroupRegistry registry,
            GroupOptions options) {
        this(identity, context, control, new StoreRendezvous(StoreClient.ofRuntime(control)), registry, options);
    }

    /**
     * Makes a world whose backends do not use the store.
     *
     * @param rendezvous rendezvous of the backends
     */
    public JoinedWorld(
            WorldIdentity identity,
            WorldContext context,
            Control control,
            GroupRendezvous rendezvous,
            GroupRegistry registry,
            GroupOptions options) {
        this.identity = identity;
        this.control = control;
        this.registry = registry;
        this.store = StoreClient.ofProgram(control);
        this.group = registry.openWorld(context, control, rendezvous, options);
        this.metrics = new CheckedMetrics(identity.rank(), control, registry.timeline());
    }

    @Override
    public int rank() {
        return identity.rank();
    }

    @Override
    public int size() {
        return identity.size();
    }

    @Override
    public int localRank() {
        return identity.localRank();
    }

    @Override
    public int localSize() {
        return identity.localSize();
    }

    @Override
    public int nodeRank() {
        return identity.nodeRank();
    }

    @Override
    public int nodeCount() {
        return identity.nodeCount();
    }

    @Override
    public String host() {
        return identity.host();
    }

    @Override
    public String runId() {
        return identity.runId();
    }

    @Override
    public int restartCount() {
        return identity.restartCount();
    }

    @Override
    public Device device() {
        return identity.device();
    }

    @Override
    public ProcessGroup group() {
        return group;
    }

    @Override
    public Store store() {
        return store;
    }

    @Override
    public Metrics metrics() {
        return metrics;
    }

    @Override
    public void reportPlace(String place) {
        if (place.length() > MAX_PLACE_LENGTH) {
            throw new CommException(
                    ErrorCode.USAGE,
                    "the place of rank " + rank() + " has " + place.length() + " characters; at most "
                            + MAX_PLACE_LENGTH + " are allowed");
        }
        control.reportPlace(place);
    }

    @Override
    public boolean checkpointRequested() {
        return registry.takeCheckpointRequest();
    }

    boolean isRegroupRequested() {
        return registry.isRegroupRequested();
    }

    /**
     * Closes all groups. Sends no report to the other ranks, and keeps the connection.
     *
     * @param why the failure, which ends pending operations at once; empty if there is none, and no operation is
     *     pending
     */
    void leaveRound(String why) {
        registry.leaveRound(why);
    }

    @Override
    public void close() {
        try {
            registry.close();
        } finally {
            control.leave();
        }
    }
}
