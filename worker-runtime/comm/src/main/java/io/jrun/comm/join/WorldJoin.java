package io.jrun.comm.join;

import io.jrun.comm.CommException;
import io.jrun.comm.Distributed;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.ListenerSocket;
import io.jrun.comm.backend.PausePoint;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.AgentChannel;
import io.jrun.comm.control.Frame.Hello;
import io.jrun.comm.control.Frame.NextRound;
import io.jrun.comm.control.Frame.PeerTable;
import io.jrun.comm.control.FrameCodec;
import io.jrun.comm.group.GroupRegistry;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.Optional;

/**
 * Joins this process to a round of its job, and later to further rounds, over one connection to its agent. Confined to
 * one thread.
 */
final class WorldJoin {
    /** The longest wait for the next round: longer than a job waits for replacement nodes. */
    private static final Duration NEXT_ROUND = Duration.ofHours(1);

    private final WorkerEnvironment environment;
    private final AgentChannel channel;
    private WorkerListener listener;
    private WorldIdentity identity;

    private WorldJoin(WorkerEnvironment environment, WorkerListener listener, AgentChannel channel) {
        this.environment = environment;
        this.channel = channel;
        this.listener = listener;
        this.identity = environment.identity();
    }

    /** @throws CommException SYSTEM if the agent cannot be reached */
    static WorldJoin connect(WorkerEnvironment environment) {
        int rank = environment.identity().rank();
        Hello hello = new Hello(
                FrameCodec.PROTOCOL_VERSION,
                environment.identity().runId(),
                environment.round(),
                rank,
                environment.processIdentity());
        WorkerListener listener = new WorkerListener(rank, registry(environment));
        return new WorldJoin(environment, listener, AgentChannel.connect(environment.agentSocket(), hello, listener));
    }

    private static GroupRegistry registry(WorkerEnvironment environment) {
        return new GroupRegistry(
                world -> TransportSelection.of(environment.transport(), world.nodeCount(), environment.tcpOptions())
                        .create(world),
                environment.files(),
                true);
    }

    /** Notifies the agent that this process can continue in later rounds. */
    void becomeElastic() {
        channel.becomeElastic();
    }

    /**
     * Joins the round for which this process was started.
     *
     * @throws CommException under the conditions of {@link Distributed#init()}
     */
    JoinedWorld first() {
        TransportSelection.check(environment.transport(), identity.nodeCount());
        return enter();
    }

    /**
     * Joins a later round, after all groups of the last round were closed.
     *
     * @param why the failure that ended the last round for this rank; empty if the job asked the rank to leave
     * @throws CommException RENDEZVOUS_TIMEOUT; ABORTED if the connection ends before the round begins
     */
    JoinedWorld next(String why) {
        String reason = why;
        while (true) {
            listener = new WorkerListener(identity.rank(), registry(environment));
            NextRound next = channel.park(reason, listener, NEXT_ROUND);
            identity = new WorldIdentity(
                    next.rank(),
                    next.worldSize(),
                    next.localRank(),
                    next.localWorldSize(),
                    next.nodeRank(),
                    next.nodeCount(),
                    identity.host(),
                    identity.runId(),
                    next.restartCount(),
                    identity.device()); // The process keeps its device: its tensors are there.
            try {
                return enter();
            } catch (CommException e) {
                if (e.code() != ErrorCode.ABORTED) {
                    throw e;
                }
                reason = String.valueOf(e.getMessage()); // The round has failed before it began.
            }
        }
    }

    private JoinedWorld enter() {
        ServerSocketChannel socket = TransportSelection.needsListener(environment.transport(), identity.nodeCount())
                ? ListenerSocket.open(identity.nodeCount() == 1)
                : null;
        try {
            PeerTable table = channel.join(
                    ListenerSocket.port(socket), environment.groupOptions().timeout());
            WorldContext context = new WorldContext(
                    identity.runId(),
                    table.round(),
                    identity.rank(),
                    table.secret(),
                    table.peers(),
                    Optional.ofNullable(socket),
                    channel,
                    environment.nodeCores(),
                    PausePoint.ofRank(identity.rank()));
            return new JoinedWorld(identity, context, channel, listener.registry(), environment.groupOptions());
        } catch (CommException failure) {
            ListenerSocket.close(socket);
            throw failure;
        }
    }
}
