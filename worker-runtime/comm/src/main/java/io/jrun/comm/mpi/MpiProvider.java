package io.jrun.comm.mpi;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.BackendFactory;
import io.jrun.comm.backend.BackendProvider;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.backend.WorldContext;
import java.util.Optional;

/** The backend {@code mpi}. */
public final class MpiProvider implements BackendProvider {
    private static final String NAME = "mpi";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> unavailableReason() {
        return MpiJob.unavailableReason();
    }

    /** @throws CommException USAGE if MPI has not started this process */
    @Override
    public BackendFactory create(WorldContext world, GroupRendezvous rendezvous) {
        MpiJob job = MpiJob.current()
                .orElseThrow(() -> new CommException(
                        ErrorCode.USAGE,
                        "backend mpi cannot be used here: MPI has not started this process. Start the program with"
                                + " mpirun (mpirun -n 2 java ...) or srun --mpi=pmix, and JRUN_BACKEND=mpi."));
        return new Factory(job.functions());
    }

    private record Factory(MpiFunctions mpi, MpiTimeoutWatchdog watch) implements BackendFactory {
        Factory(MpiFunctions mpi) {
            this(mpi, new MpiTimeoutWatchdog());
        }

        @Override
        public Backend create(GroupContext group) {
            return new MpiBackend(mpi, group, watch.over(group));
        }

        @Override
        public void close() {
            watch.close();
        }
    }
}
