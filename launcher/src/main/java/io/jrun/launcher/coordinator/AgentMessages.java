package io.jrun.launcher.coordinator;

import com.google.protobuf.ByteString;
import io.jrun.agent.container.ContainerName;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.proto.AbortRound;
import io.jrun.agent.proto.BindPolicy;
import io.jrun.agent.proto.CheckpointRequest;
import io.jrun.agent.proto.Container;
import io.jrun.agent.proto.ContainerMountEntry;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ExecutableSpec;
import io.jrun.agent.proto.FileEntry;
import io.jrun.agent.proto.FileTree;
import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.JobOpened;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.LocateWorker;
import io.jrun.agent.proto.NodeReleased;
import io.jrun.agent.proto.OpenJob;
import io.jrun.agent.proto.PeerNode;
import io.jrun.agent.proto.Ping;
import io.jrun.agent.proto.RanksLeft;
import io.jrun.agent.proto.RegroupRound;
import io.jrun.agent.proto.RoundPeerTable;
import io.jrun.agent.proto.SignalWorkers;
import io.jrun.agent.proto.StopWorkers;
import io.jrun.agent.proto.Variable;
import io.jrun.agent.proto.WorkerErrorReport;
import io.jrun.agent.proto.WorkerExitedReport;
import io.jrun.agent.proto.WorkerFrame;
import io.jrun.agent.proto.WorkerSpec;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import io.jrun.launcher.files.JobFiles;
import io.jrun.launcher.job.ConsoleSettings;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.Program;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.job.WorkerSettings;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.layout.RankMap;
import java.io.DataInputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** Translates between the launcher's types and the messages of {@code agent.proto}. Stateless. */
public final class AgentMessages {
    private AgentMessages() {}

    static ControlRequest ping() {
        return ControlRequest.newBuilder().setPing(Ping.getDefaultInstance()).build();
    }

    static ControlRequest open(JobSpec job, String version, ByteString secret, int id, Optional<JobFiles> files) {
        OpenJob.Builder open = OpenJob.newBuilder();
        job.workers()
                .container()
                .ifPresent(container -> open.setContainer(
                        container(container).setJavaProgram(job.program() instanceof Program.JavaProgram)));
        files.ifPresent(needed -> {
            open.setWorkingDir(job.workers().workingDirectory().toString());
            needed.trees().forEach(tree -> open.addFiles(tree(tree)));
        });
        return ControlRequest.newBuilder()
                .setOpenJob(open.setJrunVersion(version)
                        .setRunId(job.runId())
                        .setLogDir(job.logDirectory().resolve(job.runId()).toString())
                        .setJobSecret(secret)
                        .setReserveMasterPort(id == 0 || job.nodes().isElastic())
                        .setMasterPort(job.workers().masterPort()))
                .build();
    }

    private static Container.Builder container(ContainerSpec spec) {
        Container.Builder container = Container.newBuilder()
                .setImage(spec.image().map(ImageReference::text).orElse(""))
                .setWorkdir(spec.workdir())
                .setMountHome(spec.mountHome())
                .setRemapRoot(spec.remapRoot())
                .setReadOnly(!spec.writable())
                .setEntrypoint(spec.entrypoint())
                .addAllEnv(spec.environment())
                .setJava(spec.java().word())
                .setName(spec.name().map(ContainerName::text).orElse(""))
                .setSave(spec.save())
                .setEntrypointLog(spec.entrypointLog())
                .setEngine(spec.engine().word());
        spec.unshare().forEach(namespace -> container.addUnshare(namespace.word()));
        spec.mounts()
                .forEach(mount -> container.addMounts(ContainerMountEntry.newBuilder()
                        .setKind(mount.kind().name())
                        .setSource(mount.source())
                        .setTarget(mount.target())
                        .addAllFlags(mount.flags())));
        return container;
    }

    static JobClaim claim(JobSpec job, ByteString secret) {
        return JobClaim.newBuilder().setRunId(job.runId()).setJobSecret(secret).build();
    }

    private static FileTree tree(JobFiles.Tree tree) {
        FileTree.Builder builder =
                FileTree.newBuilder().setPath(tree.path().toString()).setPlace(tree.place());
        tree.entries()
                .forEach(entry -> builder.addEntries(FileEntry.newBuilder()
                        .setName(entry.name())
                        .setSize(entry.size())
                        .setModifiedMillis(entry.modifiedMillis())
                        .setExecutable(entry.executable())));
        return builder.build();
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

    /**
     * The launch of one round on one node. {@code --dry-run} composes its commands from the same message.
     *
     * @param kept ids of parked processes that continue under a rank of this round, by rank
     */
    public static LaunchRound launch(
            JobSpec job, RankMap ranks, Node node, int round, int restartCount, Map<Integer, Long> kept) {
        Node first = ranks.nodes().getFirst();
        WorkerSettings settings = job.workers();
        LaunchRound.Builder launch = LaunchRound.newBuilder()
                .setRound(round)
                .setRestartCount(restartCount)
                .setMaxRestarts(job.stop().maxRestarts())
                .setWorldSize(ranks.worldSize())
                .setNodeRank(node.nodeRank())
                .setNodeCount(ranks.nodes().size())
                .setMasterAddress(first.address())
                .setMasterPort(first.masterPort())
                .setRole(settings.role())
                .setProgram(program(job.program()))
                .setWorkingDir(settings.workingDirectory().toString())
                .setVirtualLocalRank(settings.virtualLocalRank())
                .setWorkerTimeoutMillis(millis(job.liveness().workerTimeout()))
                .setProgressTimeoutMillis(millis(job.liveness().progressTimeout()))
                .setBindTo(bindTo(job));
        settings.environment()
                .forEach((name, value) ->
                        launch.addEnv(Variable.newBuilder().setName(name).setValue(value)));
        for (Placement place : ranks.onNode(node.nodeRank())) {
            launch.addWorkers(worker(place, job.console(), kept.getOrDefault(place.rank(), 0L)));
        }
        return launch.build();
    }

    private static int millis(Optional<Duration> time) {
        return (int) Math.min(time.map(Duration::toMillis).orElse(0L), Integer.MAX_VALUE);
    }

    /** The binding of the workers to CPUs, as a message value. */
    public static BindPolicy bindTo(JobSpec job) {
        return switch (job.placement().bindTo()) {
            case NONE -> BindPolicy.BIND_POLICY_NONE;
            case CORE -> BindPolicy.BIND_POLICY_CORE;
            case NUMA -> BindPolicy.BIND_POLICY_NUMA;
        };
    }

    private static WorkerSpec worker(Placement place, ConsoleSettings console, long keptPid) {
        return WorkerSpec.newBuilder()
                .setRank(place.rank())
                .setLocalRank(place.localRank())
                .setConsoleStdout(console.printsStdout(place.rank(), place.localRank()))
                .setConsoleStderr(console.printsStderr(place.rank(), place.localRank()))
                .setGpu(place.gpu())
                .setKeepPid(keptPid)
                .setTerminalStdout(console.terminals().stdout())
                .setTerminalStderr(console.terminals().stderr())
                .build();
    }

    private static io.jrun.agent.proto.ProgramSpec program(Program program) {
        io.jrun.agent.proto.ProgramSpec.Builder builder =
                io.jrun.agent.proto.ProgramSpec.newBuilder().addAllArgs(program.args());
        return switch (program) {
            case Program.JavaProgram java -> builder.setJava(javaProgram(java)).build();
            case Program.Executable executable ->
                builder.setExecutable(ExecutableSpec.newBuilder().setPath(executable.path()))
                        .build();
        };
    }

    private static io.jrun.agent.proto.JavaProgramSpec javaProgram(Program.JavaProgram java) {
        return io.jrun.agent.proto.JavaProgramSpec.newBuilder()
                .setJavaHome(java.javaHome())
                .addAllClassPath(java.classPath())
                .setMainClass(java.mainClass())
                .addAllJvmOptions(java.jvmOptions())
                .addAllManifestOptions(java.manifestOptions())
                .build();
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

    static WorkerResult end(WorkerExitedReport exited, Placement place) {
        return new WorkerResult(
                exited.getRank(),
                place.localRank(),
                place.host(),
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
                "");
    }

    private static WorkerResult.WorkerError error(WorkerErrorReport error) {
        return new WorkerResult.WorkerError(error.getMessage(), error.getStack());
    }
}
