package io.jrun.comm;

import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.AgentChannel;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.ControlListener;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.Frame.Hello;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.control.Frame.PeerTable;
import io.jrun.comm.control.FrameCodec;
import io.jrun.comm.control.GroupWait;
import io.jrun.comm.control.RankLocation;
import io.jrun.comm.local.LocalHub;
import io.jrun.comm.mpi.MpiJob;
import io.jrun.comm.record.OpenDumps;
import io.jrun.comm.record.ThreadDump;
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
            return join(environment);
        }
        return MpiJob.hasStarted(System.getenv()) ? MpiWorld.join(System.getenv()) : alone();
    }

    private static World alone() {
        WorldIdentity identity = WorldIdentity.alone();
        GroupRegistry registry =
                new GroupRegistry(Transports.of(TransportKind.SHM, 1, TcpOptions.DEFAULT), Optional.empty());
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

    private static World join(WorkerEnvironment environment) {
        WorldIdentity identity = environment.identity();
        GroupRegistry registry = new GroupRegistry(
                Transports.of(environment.transport(), identity.nodeCount(), environment.tcpOptions()),
                environment.logFolder());
        ServerSocketChannel listener = Transports.needsListener(environment.transport(), identity.nodeCount())
                ? listen(identity.nodeCount() == 1)
                : null;
        Hello hello = new Hello(
                FrameCodec.PROTOCOL_VERSION,
                identity.runId(),
                environment.round(),
                identity.rank(),
                ProcessHandle.current().pid());
        try {
            AgentChannel channel = AgentChannel.connect(
                    environment.agentSocket(), hello, new WorkerListener(identity.rank(), registry));
            PeerTable table =
                    channel.join(port(listener), environment.groupOptions().timeout());
            WorldContext context = new WorldContext(
                    identity.runId(),
                    table.round(),
                    identity.rank(),
                    table.secret(),
                    table.peers(),
                    Optional.ofNullable(listener),
                    channel);
            return new World(identity, context, channel, registry, environment.groupOptions());
        } catch (CommException failure) {
            Transports.close(listener);
            throw failure;
        }
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

    /** Passes everything on, and ends the process when there is no agent any more. */
    private record WorkerListener(int rank, GroupRegistry registry) implements ControlListener {
        @Override
        public void rankLeft(int otherRank, String how) {
            registry.rankLeft(otherRank, how);
        }

        @Override
        public void abort(String cause) {
            registry.abort(cause);
        }

        @Override
        public void checkpointNow() {
            registry.checkpointNow();
        }

        @Override
        public void regroup(String why) {
            registry.regroup(why);
        }

        @Override
        public RankLocation locate(String group, long sequence) {
            return registry.locate(group, sequence, ThreadDump.ofProcess(registry.owner()));
        }

        @Override
        public List<GroupWait> waits() {
            return registry.waits();
        }

        @Override
        public Frame.Alive alive() {
            return registry.alive();
        }

        @Override
        public void connectionLost(String why) {
            registry.connectionLost(why);
            System.err.println(
                    "jrun: rank " + rank + " has lost its node's agent (" + why + "); a worker ends with its job");
            System.err.flush();
            OpenDumps.await();
            Runtime.getRuntime().halt(1);
        }
    }
}
