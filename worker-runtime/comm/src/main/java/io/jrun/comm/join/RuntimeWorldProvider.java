package io.jrun.comm.join;

import io.jrun.comm.GroupOptions;
import io.jrun.comm.Rounds;
import io.jrun.comm.TransportKind;
import io.jrun.comm.World;
import io.jrun.comm.WorldProvider;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.cuda.VisibleGpus;
import io.jrun.comm.group.GroupRegistry;
import io.jrun.comm.mpi.MpiJob;
import io.jrun.comm.tcp.TcpOptions;
import java.util.List;
import java.util.Optional;

/** Reads the environment of this process and joins the job that the environment names. Stateless. */
public final class RuntimeWorldProvider implements WorldProvider {
    @Override
    public World init() {
        WorkerEnvironment environment = WorkerEnvironment.of(System.getenv());
        if (environment != null) {
            return WorldJoin.connect(environment).first();
        }
        return withoutAgent();
    }

    @Override
    public void checkEnvironment() {
        WorkerEnvironment _ = WorkerEnvironment.of(System.getenv());
    }

    @Override
    public Rounds rounds() {
        WorkerEnvironment environment = WorkerEnvironment.of(System.getenv());
        return environment == null
                ? new JoinedRounds(withoutAgent())
                : new JoinedRounds(WorldJoin.connect(environment));
    }

    private static JoinedWorld withoutAgent() {
        return MpiJob.hasStarted(System.getenv()) ? MpiWorld.join(System.getenv()) : alone();
    }

    private static JoinedWorld alone() {
        WorldIdentity identity = WorldIdentity.alone(VisibleGpus.of(System.getenv()));
        GroupRegistry registry = new GroupRegistry(
                TransportSelection.of(TransportKind.SHM, 1, TcpOptions.DEFAULT), Optional.empty(), true);
        Peer self = new Peer(
                0,
                0,
                0,
                identity.host(),
                "127.0.0.1",
                0,
                ProcessHandle.current().pid());
        WorldContext context = new WorldContext(identity.runId(), 0, 0, Bytes.EMPTY, List.of(self), Optional.empty());
        return new JoinedWorld(
                identity, context, new LocalCoordinator().connect(0, registry), registry, GroupOptions.DEFAULT);
    }
}
