package io.jrun.agent.job;

import com.google.protobuf.ByteString;
import io.jrun.agent.control.WorkerConnection;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.NodeJoinedReport;
import io.jrun.agent.proto.PeerNode;
import io.jrun.agent.proto.RoundPeerTable;
import io.jrun.agent.proto.WorkerEndpoint;
import io.jrun.agent.proto.WorkerFrame;
import io.jrun.agent.proto.WorkerSpec;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The connections of this node's workers in one round. Collects the joins, and forwards frames between the workers and
 * the launcher. Sends all workers, also those that connect later, the ranks that have left and the cause of a failed
 * round. Confined to the job's thread.
 */
final class NodeRendezvous {
    private static final int MAX_NOTICES = 16;

    private final LaunchRound launch;
    private final String runId;
    private final Bytes secret;
    private final ResponseStream<ControlResponse> out;
    private final UserNotices notices;
    private final Set<Integer> ranks;
    private final Set<String> noticed = new HashSet<>();
    private final Map<WorkerConnection, Integer> rankOf = new HashMap<>();
    private final Map<Integer, WorkerConnection> connectionOf = new HashMap<>();
    private final Map<WorkerConnection, List<Frame.FromWorker>> beforeStart = new HashMap<>();
    private final Map<Integer, WorkerEndpoint> joins = new TreeMap<>();
    private final Map<Integer, Long> tokens = new HashMap<>();
    private final List<Frame.FromAgent> forLatecomers = new ArrayList<>();
    private final SurvivingWorkers parking;

    NodeRendezvous(
            LaunchRound launch, String runId, Bytes secret, ResponseStream<ControlResponse> out, UserNotices notices) {
        this.launch = launch;
        this.runId = runId;
        this.secret = secret;
        this.out = out;
        this.notices = notices;
        this.parking = new SurvivingWorkers(launch.getRound(), out);
        this.ranks = launch.getWorkersList().stream().map(WorkerSpec::getRank).collect(Collectors.toUnmodifiableSet());
    }

    void received(WorkerConnection connection, Frame.FromWorker frame, Map<Integer, Long> pids) {
        if (beforeStart.containsKey(connection)) {
            beforeStart.get(connection).add(frame);
            return;
        }
        if (frame instanceof Frame.Hello hello) {
            hello(connection, hello, pids);
            return;
        }
        Integer rank = rankOf.get(connection);
        if (rank == null) {
            Job.refuse(connection, frame.getClass().getSimpleName() + " before Hello");
            return;
        }
        switch (frame) {
            case Frame.Join(int tcpPort) -> join(connection, rank, tcpPort, pids);
            case Frame.Forwarded(Bytes encoded) -> forward(rank, encoded);
            case Frame.Elastic() -> parking.becameElastic(rank);
            case Frame.Parked(String why) -> parking.parked(rank, pids.getOrDefault(rank, 0L), why);
            case Frame.Hello _, Frame.RecordReply _, Frame.Alive _, Frame.ToLauncher _ ->
                throw new IllegalArgumentException("a frame that the rendezvous does not handle: " + frame);
        }
    }

    /** The worker of a rank sees a pid that the agent does not know, and says this token instead. */
    void expect(int rank, long token) {
        tokens.put(rank, token);
    }

    /** A worker may send Hello before the agent knows its process. The agent keeps the worker's frames until then. */
    void workerKnown(Map<Integer, Long> pids) {
        Map<WorkerConnection, List<Frame.FromWorker>> waiting = new HashMap<>(beforeStart);
        beforeStart.clear();
        waiting.forEach((connection, frames) -> frames.forEach(frame -> received(connection, frame, pids)));
    }

    void complete(RoundPeerTable table) {
        if (table.getRound() != launch.getRound()) {
            return;
        }
        List<Frame.Peer> peers = new ArrayList<>();
        for (PeerNode node : table.getNodesList()) {
            for (int localRank = 0; localRank < node.getRanksCount(); localRank++) {
                peers.add(new Frame.Peer(
                        node.getRanks(localRank),
                        node.getNodeRank(),
                        localRank,
                        node.getHost(),
                        node.getAddress(),
                        node.getTcpPorts(localRank),
                        node.getPids(localRank)));
            }
        }
        peers.sort(Comparator.comparingInt(Frame.Peer::rank));
        sendAll(new Frame.PeerTable(launch.getRound(), secret, peers));
    }

    /** Forwards a frame of the launcher to a worker. */
    void forward(WorkerFrame message) {
        WorkerConnection connection = connectionOf.get(message.getRank());
        if (connection != null && message.getRound() == launch.getRound()) {
            connection.sendEncoded(message.getFrame().toByteArray());
        }
    }

    /** The workers of the round that can continue in the next. */
    SurvivingWorkers parking() {
        return parking;
    }

    /** Takes over the connection of a worker that continues in this round, and sends the worker its new rank. */
    void adopt(WorkerConnection connection, WorkerSpec worker) {
        int rank = worker.getRank();
        rankOf.put(connection, rank);
        connectionOf.put(rank, connection);
        parking.becameElastic(rank);
        connection.send(new Frame.NextRound(
                launch.getRound(),
                launch.getRestartCount(),
                rank,
                launch.getWorldSize(),
                launch.getVirtualLocalRank() ? 0 : worker.getLocalRank(),
                launch.getWorkersCount(),
                launch.getNodeRank(),
                launch.getNodeCount()));
        forLatecomers.forEach(connection::send);
    }

    /** Removes a worker's connection without closing it, and returns it; null if there is none. */
    @Nullable
    WorkerConnection release(int rank) {
        WorkerConnection connection = connectionOf.remove(rank);
        rankOf.values().remove(rank);
        return connection;
    }

    /** Whether this rank has entered the round, by {@code Distributed.init()}. */
    boolean hasJoined(int rank) {
        return joins.containsKey(rank);
    }

    /** The rank of a connection; empty before the Hello. */
    Optional<Integer> rank(WorkerConnection connection) {
        return Optional.ofNullable(rankOf.get(connection));
    }

    /** The connection of a worker of this node; null if it has none. */
    @Nullable
    WorkerConnection connection(int rank) {
        return connectionOf.get(rank);
    }

    void rankLeft(int rank, String how) {
        Frame.RankLeft left = new Frame.RankLeft(rank, how);
        forLatecomers.add(left);
        connectionOf.forEach((other, connection) -> {
            if (other != rank) {
                connection.send(left);
            }
        });
    }

    void abort(String cause) {
        Frame.Abort abort = new Frame.Abort(cause);
        forLatecomers.add(abort);
        sendAll(abort);
    }

    void sendAll(Frame.FromAgent frame) {
        connectionOf.values().forEach(connection -> connection.send(frame));
    }

    void ended(WorkerConnection connection, String problem) {
        beforeStart.remove(connection);
        Integer rank = rankOf.remove(connection);
        if (rank != null) {
            connectionOf.remove(rank, connection);
        }
        if (!problem.isEmpty()) {
            notice((rank == null ? "a control connection that named no rank" : "the control connection of rank " + rank)
                    + " was closed: " + problem);
        }
    }

    /**
     * Reports each problem once, and sixteen problems at most, because a defective worker may send invalid frames
     * forever.
     */
    private void notice(String text) {
        if (noticed.size() < MAX_NOTICES && noticed.add(text)) {
            notices.accept(text);
        }
    }

    void close() {
        rankOf.keySet().forEach(WorkerConnection::close);
        beforeStart.keySet().forEach(WorkerConnection::close);
        rankOf.clear();
        connectionOf.clear();
    }

    private void hello(WorkerConnection connection, Frame.Hello hello, Map<Integer, Long> pids) {
        String problem = problemWith(hello, pids);
        if (problem.isEmpty() && rankOf.containsKey(connection)) {
            problem = "this connection has sent Hello before";
        }
        if (!problem.isEmpty()) {
            Job.refuse(connection, problem);
            return;
        }
        if (!pids.containsKey(hello.rank())) {
            beforeStart.put(connection, new ArrayList<>(List.of(hello)));
            return;
        }
        rankOf.put(connection, hello.rank());
        connectionOf.put(hello.rank(), connection);
        forLatecomers.forEach(connection::send);
    }

    private String problemWith(Frame.Hello hello, Map<Integer, Long> pids) {
        if (hello.protocolVersion() != FrameCodec.PROTOCOL_VERSION) {
            return "the worker's jrun-comm speaks control protocol " + hello.protocolVersion() + ", this agent "
                    + FrameCodec.PROTOCOL_VERSION + "; is an older jrun-comm.jar first on the class path?";
        }
        if (!hello.runId().equals(runId) || hello.round() != launch.getRound()) {
            return "this agent runs round " + launch.getRound() + " of job " + runId + ", not round " + hello.round()
                    + " of job " + hello.runId();
        }
        if (!ranks.contains(hello.rank())) {
            return "rank " + hello.rank() + " does not run on this node in round " + launch.getRound();
        }
        Long pid = pids.get(hello.rank());
        if (pid != null && tokens.containsKey(hello.rank())) {
            if (tokens.get(hello.rank()) != hello.identity()) {
                return "another process than the worker says that it is rank " + hello.rank()
                        + ": its JRUN_WORKER_TOKEN is not the worker's";
            }
        } else if (pid != null && pid != hello.identity()) {
            return "rank " + hello.rank() + " is process " + pid + ", not " + hello.identity()
                    + "; a wrapper script must exec the program that joins";
        }
        return connectionOf.containsKey(hello.rank()) ? "rank " + hello.rank() + " is connected already" : "";
    }

    private void join(WorkerConnection connection, int rank, int tcpPort, Map<Integer, Long> pids) {
        if (joins.containsKey(rank)) {
            Job.refuse(connection, "rank " + rank + " has joined round " + launch.getRound() + " before");
            return;
        }
        joins.put(
                rank,
                WorkerEndpoint.newBuilder()
                        .setRank(rank)
                        .setTcpPort(tcpPort)
                        .setPid(pids.getOrDefault(rank, 0L))
                        .build());
        if (joins.size() == ranks.size()) {
            out.send(ControlResponse.newBuilder()
                    .setNodeJoined(NodeJoinedReport.newBuilder()
                            .setRound(launch.getRound())
                            .addAllEndpoints(joins.values()))
                    .build());
        }
    }

    /** Forwards a frame of a worker to the launcher. */
    private void forward(int rank, Bytes frame) {
        out.send(ControlResponse.newBuilder()
                .setWorkerFrame(WorkerFrame.newBuilder()
                        .setRank(rank)
                        .setRound(launch.getRound())
                        .setFrame(ByteString.copyFrom(frame.toArray())))
                .build());
    }
}
