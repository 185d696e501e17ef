package io.jrun.train.gloo;

import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.BackendFactory;
import io.jrun.comm.backend.BackendProvider;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.backend.WorldContext;
import io.jrun.train.Libtorch;
import java.util.Optional;

/** The backend {@code gloo}. */
public final class GlooProvider implements BackendProvider {
    @Override
    public String name() {
        return "gloo";
    }

    @Override
    public Optional<String> unavailableReason() {
        try {
            Libtorch.load();
            return Optional.empty();
        } catch (RuntimeException | LinkageError e) {
            return Optional.of("libtorch cannot be loaded: " + e.getMessage());
        }
    }

    @Override
    public BackendFactory create(WorldContext world, GroupRendezvous rendezvous) {
        return new Factory(rendezvous);
    }

    private record Factory(GroupRendezvous rendezvous) implements BackendFactory {
        @Override
        public Backend create(GroupContext group) {
            return new GlooBackend(group, rendezvous);
        }

        @Override
        public void close() {}
    }
}
