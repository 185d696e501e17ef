package io.jrun.comm;

import io.jrun.comm.backend.Rendezvous;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Control;
import io.jrun.comm.store.StoreClient;

/**
 * All ranks of a job, seen from one of them: who this rank is, the group of everybody, and the store. Made by
 * {@link Distributed#init()} or by {@link LocalWorld}. Thread-safe.
 */
public final class World implements AutoCloseable {
    private final WorldIdentity identity;
    private final Control control;
    private final GroupRegistry registry;
    private final ProcessGroup group;
    private final Store store;

    World(WorldIdentity identity, WorldContext context, Control control, GroupRegistry registry, GroupOptions options) {
        this(identity, context, control, new StoreRendezvous(StoreClient.ofRuntime(control)), registry, options);
    }

    /** @param rendezvous for backends that do not use the store */
    World(
            WorldIdentity identity,
            WorldContext context,
            Control control,
            Rendezvous rendezvous,
            GroupRegistry registry,
            GroupOptions options) {
        this.identity = identity;
        this.control = control;
        this.registry = registry;
        this.store = StoreClient.ofProgram(control);
        this.group = registry.openWorld(context, control, rendezvous, options);
    }

    /** This rank's number in the job, 0 to size-1. */
    public int rank() {
        return identity.rank();
    }

    /** Number of ranks of the job. */
    public int size() {
        return identity.size();
    }

    /** This rank's number on its node. */
    public int localRank() {
        return identity.localRank();
    }

    /** Number of ranks on this node. */
    public int localSize() {
        return identity.localSize();
    }

    /** This node's number in the job. */
    public int nodeRank() {
        return identity.nodeRank();
    }

    /** Number of nodes of the job. */
    public int nodeCount() {
        return identity.nodeCount();
    }

    /** This node's name. */
    public String host() {
        return identity.host();
    }

    /** The job's name. */
    public String runId() {
        return identity.runId();
    }

    /** How often the job's workers have been restarted. */
    public int restartCount() {
        return identity.restartCount();
    }

    /** The group of all ranks; closed with the world. */
    public ProcessGroup group() {
        return group;
    }

    /** The job's key-value store. */
    public Store store() {
        return store;
    }

    /** True once after each time a checkpoint was asked for; ranks may hear of it at different steps, so agree about it. */
    public boolean checkpointRequested() {
        return registry.takeCheckpointRequest();
    }

    boolean isRegroupRequested() {
        return registry.isRegroupRequested();
    }

    /**
     * Closes all groups, but says nothing to the others and keeps the connection.
     *
     * @param why what has failed, which ends pending operations at once; empty: nothing, and none is pending
     */
    void leaveRound(String why) {
        registry.leaveRound(why);
    }

    /**
     * Closes all groups as {@link ProcessGroup#close()} does, and tells the others that this rank has left. Idempotent.
     */
    @Override
    public void close() {
        try {
            registry.close();
        } finally {
            control.leave();
        }
    }
}
