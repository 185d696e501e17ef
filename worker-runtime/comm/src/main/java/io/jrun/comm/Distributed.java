package io.jrun.comm;

import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.local.LocalHub;
import io.jrun.comm.mpi.MpiJob;
import io.jrun.comm.tcp.TcpOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The way into the job that this process was started for. */
public final class Distributed {
    /** Every other rank may call at once, before the first operation here begins to answer; the kernel caps it. */
    private static final int BACKLOG = 4096;

    private Distributed() {}

    /**
     * Joins the job and returns when every rank has. A process that jrun did not start is a world of one; unless MPI has
     * started it (mpirun, srun --mpi=pmix): then the world is MPI's, without a store and without word of ranks that leave.
     *
     * <p>Call it once per process and close the world at the end. When this node's agent vanishes, the process says so on
     * stderr and halts with exit code 1: a worker does not outlive its job.
     *
     * @throws CommException RENDEZVOUS_TIMEOUT if not all ranks have joined in time; ABORTED if the job stops meanwhile;
     *     USAGE if the environment is not jrun's, or the agent refuses this process (a second call, for instance); SYSTEM if
     *     the agent cannot be reached
     */
    public static World init() {
        WorkerEnvironment environment = WorkerEnvironment.of(System.getenv());
        if (environment != null) {
            return Joining.connect(environment).first();
        }
        return MpiJob.hasStarted(System.getenv()) ? MpiWorld.join(System.getenv()) : alone();
    }

    /**
     * Reads what {@link #init()} would, for who wants to know before the program runs.
     *
     * @throws CommException USAGE as init
     */
    public static void checkEnvironment() {
        WorkerEnvironment _ = WorkerEnvironment.of(System.getenv());
    }

    /**
     * As {@link #init()}, for a process that can go on in another round when this one fails; see
     * {@link io.jrun.comm.elastic.Elastic}, which is what programs use.
     */
    public static Rounds rounds() {
        WorkerEnvironment environment = WorkerEnvironment.of(System.getenv());
        return environment == null ? new Rounds(init()) : new Rounds(Joining.connect(environment));
    }

    private static World alone() {
        WorldIdentity identity = WorldIdentity.alone();
        GroupRegistry registry =
                new GroupRegistry(Transports.of(TransportKind.SHM, 1, TcpOptions.DEFAULT), Optional.empty(), true);
        Peer self = new Peer(
                0,
                0,
                0,
                identity.host(),
                "127.0.0.1",
                0,
                ProcessHandle.current().pid());
        WorldContext context = new WorldContext(identity.runId(), 0, 0, Bytes.EMPTY, List.of(self), Optional.empty());
        return new World(identity, context, new LocalHub().connect(0, registry), registry, GroupOptions.DEFAULT);
    }

    static ServerSocketChannel listen(boolean sameNode) {
        try {
            ServerSocketChannel listener = ServerSocketChannel.open();
            InetAddress any = new InetSocketAddress(0).getAddress();
            listener.bind(new InetSocketAddress(sameNode ? InetAddress.getLoopbackAddress() : any, 0), BACKLOG);
            return listener;
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, "cannot listen for other ranks: " + e.getMessage(), e);
        }
    }

    static int port(@Nullable ServerSocketChannel listener) {
        return listener == null ? 0 : listener.socket().getLocalPort();
    }
}
