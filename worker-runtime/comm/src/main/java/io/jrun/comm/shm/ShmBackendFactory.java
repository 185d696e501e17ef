package io.jrun.comm.shm;

import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.BackendFactory;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.WorldContext;

/** Makes shared-memory backends. */
public final class ShmBackendFactory implements BackendFactory {
    private final WorldContext world;

    /** Opens nothing yet. */
    public ShmBackendFactory(WorldContext world) {
        this.world = world;
    }

    @Override
    public Backend create(GroupContext group) {
        throw new UnsupportedOperationException("shared memory of round " + world.round());
    }

    @Override
    public void close() {}
}
