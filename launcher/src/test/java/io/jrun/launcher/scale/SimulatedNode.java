package io.jrun.launcher.scale;

import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.AbortReceipt;
import io.jrun.agent.proto.AgentGrpc;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.JobOpened;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import io.jrun.agent.proto.NodeJoinedReport;
import io.jrun.agent.proto.PeerNode;
import io.jrun.agent.proto.Pong;
import io.jrun.agent.proto.RoundPeerTable;
import io.jrun.agent.proto.WorkerEndpoint;
import io.jrun.agent.proto.WorkerExitedReport;
import io.jrun.agent.proto.WorkerFrame;
import io.jrun.agent.proto.WorkerSpec;
import io.jrun.agent.proto.WorkerStartedReport;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * A node's agent whose workers do nothing: they join at once, and end when they are told to, or when {@link Timeline}
 * says so.
 */
final class SimulatedNode extends AgentGrpc.AgentImplBase {
    private static final int CORES = 8;
    private static final int FIRST_PID = 100_000;
    private static final int FIRST_PORT = 40_000;
    private static final int TERMINATED = 143;
    private static final List<String> METRICS = List.of(
            "loss",
            "step_seconds",
            "data_seconds",
            "forward_seconds",
            "backward_seconds",
            "exposed_communication_seconds",
            "optimizer_seconds",
            "tokens_per_second");

    private final int node;
    private final Timeline timeline;
    private final Runnable onArrival;
    private Optional<StreamObserver<ControlResponse>> out = Optional.empty();
    private Optional<StreamObserver<LogChunk>> logs = Optional.empty();
    private final List<WorkerSpec> living = new ArrayList<>();
    private int round;
    private int worldSize;

    /** @param onArrival runs when the launcher has called */
    SimulatedNode(int node, Timeline timeline, Runnable onArrival) {
        this.onArrival = onArrival;
        this.node = node;
        this.timeline = timeline;
    }

    @Override
    public StreamObserver<ControlRequest> control(StreamObserver<ControlResponse> toCoordinator) {
        onArrival.run();
        timeline.arrived(this);
        synchronized (this) {
            out = Optional.of(toCoordinator);
        }
        return new Ending<>(toCoordinator) {
            @Override
            public void onNext(ControlRequest message) {
                handle(message);
            }
        };
    }

    @Override
    public StreamObserver<LogCredit> logs(StreamObserver<LogChunk> toConsole) {
        synchronized (this) {
            logs = Optional.of(toConsole);
        }
        return new Ending<>(toConsole);
    }

    /** It has all files. */
    @Override
    public StreamObserver<FileChunk> files(StreamObserver<FileRequest> toLauncher) {
        toLauncher.onCompleted();
        return new Ending<>(toLauncher);
    }

    /** Reads nothing, and ends one stream with another. */
    private static class Ending<M> implements StreamObserver<M> {
        private final StreamObserver<?> other;

        Ending(StreamObserver<?> other) {
            this.other = other;
        }

        @Override
        public void onNext(M message) {}

        @Override
        public void onError(Throwable lost) {}

        @Override
        public void onCompleted() {
            try {
                other.onCompleted();
            } catch (IllegalStateException e) {
                // it has ended before
            }
        }
    }

    private void handle(ControlRequest message) {
        switch (message.getMessageCase()) {
            case OPEN_JOB -> send(ControlResponse.newBuilder().setJobOpened(opened()));
            case LAUNCH -> launch(message.getLaunch());
            case PEER_TABLE -> {
                check(message.getPeerTable());
                timeline.ready(round);
            }
            case ABORT_ROUND -> {
                timeline.abortConfirmed();
                send(ControlResponse.newBuilder()
                        .setAbortReceipt(AbortReceipt.newBuilder().setRound(round)));
            }
            case STOP_WORKERS -> stop();
            case PING ->
                send(ControlResponse.newBuilder()
                        .setPong(Pong.newBuilder()
                                .setSentNanos(message.getPing().getSentNanos())
                                .setAgentNanos(System.nanoTime())));
            case RANKS_LEFT -> {}
            default -> throw new IllegalStateException("this world has no use for " + message.getMessageCase());
        }
    }

    private synchronized void send(ControlResponse.Builder message) {
        out.orElseThrow().onNext(message.build());
    }

    private JobOpened opened() {
        return JobOpened.newBuilder()
                .setHost("n" + node)
                .setAddress("127.0.0.1")
                .setCores(CORES)
                .setMasterPort(node == 0 ? FIRST_PORT : 0)
                .addAllGpus(
                        IntStream.range(0, CORES).mapToObj(Integer::toString).toList())
                .build();
    }

    private synchronized void launch(LaunchRound launch) {
        round = launch.getRound();
        worldSize = launch.getWorldSize();
        living.addAll(launch.getWorkersList());
        NodeJoinedReport.Builder joined = NodeJoinedReport.newBuilder().setRound(round);
        for (WorkerSpec worker : living) {
            send(ControlResponse.newBuilder()
                    .setWorkerStarted(WorkerStartedReport.newBuilder()
                            .setRank(worker.getRank())
                            .setPid(pid(worker.getRank()))));
            joined.addEndpoints(WorkerEndpoint.newBuilder()
                    .setRank(worker.getRank())
                    .setPid(pid(worker.getRank()))
                    .setTcpPort(FIRST_PORT + worker.getLocalRank()));
        }
        send(ControlResponse.newBuilder().setNodeJoined(joined));
    }

    private long pid(int rank) {
        return FIRST_PID * (long) round + rank;
    }

    /** All ranks are there, each with its own process. */
    private void check(RoundPeerTable table) {
        BitSet ranks = new BitSet();
        boolean right = table.getRound() == round;
        for (PeerNode peer : table.getNodesList()) {
            for (int i = 0; i < peer.getRanksCount(); i++) {
                ranks.set(peer.getRanks(i));
                right &= peer.getPids(i) == pid(peer.getRanks(i));
            }
        }
        if (!right || ranks.cardinality() != worldSize) {
            throw new IllegalStateException("this is not the table of round " + round);
        }
    }

    private synchronized void stop() {
        List.copyOf(living).forEach(worker -> exit(worker, TERMINATED, true));
        timeline.stopped();
    }

    /** The first worker fails. */
    synchronized void fail(int exitCode) {
        exit(living.getFirst(), exitCode, false);
    }

    /** Each worker reports the metrics of a step, as a training does. */
    synchronized void report(long step) {
        for (WorkerSpec worker : living) {
            Map<String, Double> values = new LinkedHashMap<>();
            for (String name : METRICS) {
                values.put(name, step + worker.getRank() / 1000.0);
            }
            send(ControlResponse.newBuilder()
                    .setWorkerFrame(WorkerFrame.newBuilder()
                            .setRank(worker.getRank())
                            .setRound(round)
                            .setFrame(ByteString.copyFrom(FrameCodec.encode(new Frame.Metrics(step, values, 0))))));
        }
    }

    /** All workers have done their work. */
    synchronized void succeed() {
        for (WorkerSpec worker : living) {
            send(ControlResponse.newBuilder()
                    .setWorkerFrame(WorkerFrame.newBuilder()
                            .setRank(worker.getRank())
                            .setRound(round)
                            .setFrame(
                                    ByteString.copyFrom(FrameCodec.encode(new Frame.Leaving("has left", List.of()))))));
        }
        List.copyOf(living).forEach(worker -> exit(worker, 0, false));
    }

    private void exit(WorkerSpec worker, int exitCode, boolean afterStop) {
        living.remove(worker);
        for (boolean stderr : new boolean[] {false, true}) {
            if (stderr ? worker.getConsoleStderr() : worker.getConsoleStdout()) {
                logs.orElseThrow()
                        .onNext(LogChunk.newBuilder()
                                .setRank(worker.getRank())
                                .setRound(round)
                                .setStderr(stderr)
                                .setLast(true)
                                .build());
            }
        }
        send(ControlResponse.newBuilder()
                .setWorkerExited(WorkerExitedReport.newBuilder()
                        .setRank(worker.getRank())
                        .setRound(round)
                        .setPid(pid(worker.getRank()))
                        .setExitCode(exitCode)
                        .setAfterStop(afterStop)));
    }
}
