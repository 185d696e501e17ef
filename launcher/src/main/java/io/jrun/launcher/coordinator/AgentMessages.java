package io.jrun.launcher.coordinator;

import com.google.protobuf.ByteString;
import io.jrun.agent.proto.AbortRound;
import io.jrun.agent.proto.CheckpointRequest;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.JobOpened;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.LocateWorker;
import io.jrun.agent.proto.NodeReleased;
import io.jrun.agent.proto.PeerNode;
import io.jrun.agent.proto.Ping;
import io.jrun.agent.proto.RanksLeft;
import io.jrun.agent.proto.RegroupRound;
import io.jrun.agent.proto.RoundPeerTable;
import io.jrun.agent.proto.SignalWorkers;
import io.jrun.agent.proto.StopWorkers;
import io.jrun.agent.proto.WorkerErrorReport;
import io.jrun.agent.proto.WorkerExitedReport;
import io.jrun.agent.proto.WorkerFrame;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.Placement;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Translates between the launcher's types and the messages of {@code agent.proto}. {@link JobMessages} has the messages
 * that describe a job. Stateless.
 */
final class AgentMessages {
    private AgentMessages() {}

    static ControlRequest ping() {
        return ControlRequest.newBuilder()
                .setPing(Ping.newBuilder().setSentNanos(System.nanoTime()))
                .build();
    }

    static Node node(int nodeRank, JobOpened opened) {
        return new Node(
                nodeRank,
                opened.getHost(),
                opened.getAddress(),
                opened.getCores(),
                opened.getGpusList(),
                opened.getMasterPort(),
                opened.getWorkers().isEmpty() ? Optional.empty() : Optional.of(WorkerCount.of(opened.getWorkers())));
    }

    static ControlRequest launch(LaunchRound launch) {
        return ControlRequest.newBuilder().setLaunch(launch).build();
    }

    /** @param peers of each node in the order of their local ranks */
    static ControlRequest peers(int round, List<CoordinatorAction.PeerAddress> peers) {
        SortedMap<Integer, PeerNode.Builder> nodes = new TreeMap<>();
        for (CoordinatorAction.PeerAddress peer : peers) {
            nodes.computeIfAbsent(
                            peer.nodeRank(),
                            nodeRank -> PeerNode.newBuilder()
                                    .setNodeRank(nodeRank)
                                    .setHost(peer.host())
                                    .setAddress(peer.address()))
                    .addRanks(peer.rank())
                    .addTcpPorts(peer.tcpPort())
                    .addPids(peer.pid());
        }
        RoundPeerTable.Builder table = RoundPeerTable.newBuilder().setRound(round);
        nodes.values().forEach(table::addNodes);
        return ControlRequest.newBuilder().setPeerTable(table).build();
    }

    static ControlRequest rankLeft(int round, List<Integer> ranks, String how) {
        return ControlRequest.newBuilder()
                .setRanksLeft(RanksLeft.newBuilder()
                        .setRound(round)
                        .addAllRanks(ranks)
                        .setHow(how))
                .build();
    }

    static ControlRequest released(String why) {
        return ControlRequest.newBuilder()
                .setNodeReleased(NodeReleased.newBuilder().setWhy(why))
                .build();
    }

    static ControlRequest abort(int round, String cause) {
        return ControlRequest.newBuilder()
                .setAbortRound(AbortRound.newBuilder().setRound(round).setCause(cause))
                .build();
    }

    static ControlRequest stop(int signal, long graceMillis, boolean spareElastic) {
        return ControlRequest.newBuilder()
                .setStopWorkers(StopWorkers.newBuilder()
                        .setSignal(signal)
                        .setGraceMillis((int) Math.min(graceMillis, Integer.MAX_VALUE))
                        .setSpareElastic(spareElastic))
                .build();
    }

    static ControlRequest regroup(int round, String why) {
        return ControlRequest.newBuilder()
                .setRegroup(RegroupRound.newBuilder().setRound(round).setWhy(why))
                .build();
    }

    static ControlRequest signal(int signal) {
        return ControlRequest.newBuilder()
                .setSignalWorkers(SignalWorkers.newBuilder().setSignal(signal))
                .build();
    }

    static ControlRequest checkpoint() {
        return ControlRequest.newBuilder()
                .setCheckpointNow(CheckpointRequest.getDefaultInstance())
                .build();
    }

    /** @param requester a rank, or {@link LocationQueries#LAUNCHER} */
    static ControlRequest locate(int requester, int round, Frame.Locate request) {
        return ControlRequest.newBuilder()
                .setLocate(LocateWorker.newBuilder()
                        .setRequester(requester)
                        .setRound(round)
                        .setId(request.id())
                        .setRank(request.rank())
                        .setGroup(request.group())
                        .setSequence(request.sequence()))
                .build();
    }

    /** The message with a frame of the launcher for a worker of round {@code round}. */
    static ControlRequest frame(int rank, int round, Frame.FromLauncher frame) {
        return frame(rank, round, ByteString.copyFrom(FrameCodec.encode(frame)));
    }

    /** @param encoded by {@link FrameCodec} */
    static ControlRequest frame(int rank, int round, ByteString encoded) {
        return ControlRequest.newBuilder()
                .setWorkerFrame(
                        WorkerFrame.newBuilder().setRank(rank).setRound(round).setFrame(encoded))
                .build();
    }

    /** Decodes the frame of a worker for the launcher. */
    static Frame.ToLauncher fromWorker(ByteString encoded) throws IOException {
        if (decode(encoded) instanceof Frame.ToLauncher frame) {
            return frame;
        }
        throw new IOException("the frame is not addressed to the launcher");
    }

    /** The answer to a {@link LocateWorker}. */
    static Frame.Location location(ByteString encoded) throws IOException {
        if (decode(encoded) instanceof Frame.Location frame) {
            return frame;
        }
        throw new IOException("the frame is not a location");
    }

    private static Frame decode(ByteString encoded) throws IOException {
        try (DataInputStream in = new DataInputStream(encoded.newInput())) {
            return FrameCodec.read(in);
        }
    }

    /** @param meshPlace the worker's place in the mesh of the program; empty if the worker has reported none */
    static WorkerResult end(WorkerExitedReport exited, Placement placement, String meshPlace) {
        return new WorkerResult(
                exited.getRank(),
                placement.localRank(),
                placement.host(),
                exited.getPid(),
                exited.getExitCode(),
                exited.getAfterStop(),
                exited.getOomKilled(),
                exited.getStartError(),
                exited.getNotJoined(),
                exited.hasError() ? Optional.of(error(exited.getError())) : Optional.empty(),
                exited.getStderrTailList(),
                exited.getArtifactsList(),
                exited.getLogFolder(),
                exited.getRunSeconds(),
                meshPlace);
    }

    private static WorkerResult.WorkerError error(WorkerErrorReport error) {
        return new WorkerResult.WorkerError(
                error.getMessage(), error.getStack(), error.getGroupFailure(), error.getCrash());
    }
}
