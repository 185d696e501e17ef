package io.jrun.launcher.coordinator;

import com.google.protobuf.ByteString;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.proto.AbortRound;
import io.jrun.agent.proto.BindTo;
import io.jrun.agent.proto.CheckpointNow;
import io.jrun.agent.proto.Container;
import io.jrun.agent.proto.ContainerMount;
import io.jrun.agent.proto.ErrorRecord;
import io.jrun.agent.proto.Executable;
import io.jrun.agent.proto.FileEntry;
import io.jrun.agent.proto.FileTree;
import io.jrun.agent.proto.GivenUp;
import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.JobOpened;
import io.jrun.agent.proto.Launch;
import io.jrun.agent.proto.Locate;
import io.jrun.agent.proto.OpenJob;
import io.jrun.agent.proto.PeerNode;
import io.jrun.agent.proto.PeerTable;
import io.jrun.agent.proto.Ping;
import io.jrun.agent.proto.RankLeft;
import io.jrun.agent.proto.Regroup;
import io.jrun.agent.proto.SignalWorkers;
import io.jrun.agent.proto.StopWorkers;
import io.jrun.agent.proto.ToAgent;
import io.jrun.agent.proto.Variable;
import io.jrun.agent.proto.WorkerExited;
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

/** The agents' protocol, in the launcher's terms. Stateless. */
public final class AgentMessages {
    private AgentMessages() {}

    static ToAgent ping() {
        return ToAgent.newBuilder().setPing(Ping.getDefaultInstance()).build();
    }

    static ToAgent open(JobSpec job, String version, ByteString secret, int id, Optional<JobFiles> files) {
        OpenJob.Builder open = OpenJob.newBuilder();
        job.workers().container().ifPresent(container -> open.setContainer(container(container)));
        files.ifPresent(needed -> {
            open.setWorkingDir(job.workers().workingDirectory().toString());
            needed.trees().forEach(tree -> open.addFiles(tree(tree)));
        });
        return ToAgent.newBuilder()
                .setOpenJob(open.setJrunVersion(version)
                        .setRunId(job.runId())
                        .setLogDir(job.logDirectory().resolve(job.runId()).toString())
                        .setJobSecret(secret)
                        .setReserveMasterPort(id == 0 || job.nodes().isElastic())
                        .setMasterPort(job.workers().masterPort()))
                .build();
    }

    private static Container container(ContainerSpec spec) {
        Container.Builder container = Container.newBuilder()
                .setImage(spec.image().map(ImageReference::text).orElse(""))
                .setWorkdir(spec.workdir())
                .setMountHome(spec.mountHome())
                .setRemapRoot(spec.remapRoot())
                .setReadOnly(!spec.writable())
                .setEntrypoint(spec.entrypoint())
                .addAllEnv(spec.environment())
                .setJava(spec.java().word());
        spec.unshare().forEach(namespace -> container.addUnshare(namespace.word()));
        spec.mounts()
                .forEach(mount -> container.addMounts(ContainerMount.newBuilder()
                        .setKind(mount.kind().name())
                        .setSource(mount.source())
                        .setTarget(mount.target())
                        .addAllFlags(mount.flags())));
        return container.build();
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
     * The launch of one round on one node; also what {@code --dry-run} composes commands from.
     *
     * @param kept processes that take a rank instead of new ones, by rank
     */
    public static Launch launch(
            JobSpec job, RankMap ranks, Node node, int round, int restartCount, Map<Integer, Long> kept) {
        Node first = ranks.nodes().getFirst();
        WorkerSettings settings = job.workers();
        Launch.Builder launch = Launch.newBuilder()
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

    /** What a job's workers are bound to, as agents are told. */
    public static BindTo bindTo(JobSpec job) {
        return switch (job.placement().bindTo()) {
            case NONE -> BindTo.BIND_TO_NONE;
            case CORE -> BindTo.BIND_TO_CORE;
            case NUMA -> BindTo.BIND_TO_NUMA;
        };
    }

    private static WorkerSpec worker(Placement place, ConsoleSettings console, long keptPid) {
        return WorkerSpec.newBuilder()
                .setRank(place.rank())
                .setLocalRank(place.localRank())
                .setConsoleStdout(console.showsStdout(place.rank(), place.localRank()))
                .setConsoleStderr(console.showsStderr(place.rank(), place.localRank()))
                .setGpu(place.gpu())
                .setKeepPid(keptPid)
                .setTerminalStdout(console.terminals().stdout())
                .setTerminalStderr(console.terminals().stderr())
                .build();
    }

    private static io.jrun.agent.proto.Program program(Program program) {
        io.jrun.agent.proto.Program.Builder builder =
                io.jrun.agent.proto.Program.newBuilder().addAllArgs(program.args());
        return switch (program) {
            case Program.JavaProgram java -> builder.setJava(javaProgram(java)).build();
            case Program.Executable executable ->
                builder.setExecutable(Executable.newBuilder().setPath(executable.path()))
                        .build();
        };
    }

    private static io.jrun.agent.proto.JavaProgram javaProgram(Program.JavaProgram java) {
        return io.jrun.agent.proto.JavaProgram.newBuilder()
                .setJavaHome(java.javaHome())
                .addAllClassPath(java.classPath())
                .setMainClass(java.mainClass())
                .addAllJvmOptions(java.jvmOptions())
                .addAllManifestOptions(java.manifestOptions())
                .build();
    }

    static ToAgent launch(Launch launch) {
        return ToAgent.newBuilder().setLaunch(launch).build();
    }

    /** @param peers of each node in the order of their local ranks */
    static ToAgent peers(int round, List<CoordinatorAction.Peer> peers) {
        SortedMap<Integer, PeerNode.Builder> nodes = new TreeMap<>();
        for (CoordinatorAction.Peer peer : peers) {
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
        PeerTable.Builder table = PeerTable.newBuilder().setRound(round);
        nodes.values().forEach(table::addNodes);
        return ToAgent.newBuilder().setPeerTable(table).build();
    }

    static ToAgent rankLeft(int round, List<Integer> ranks, String how) {
        return ToAgent.newBuilder()
                .setRankLeft(
                        RankLeft.newBuilder().setRound(round).addAllRanks(ranks).setHow(how))
                .build();
    }

    static ToAgent givenUp(String why) {
        return ToAgent.newBuilder().setGivenUp(GivenUp.newBuilder().setWhy(why)).build();
    }

    static ToAgent abort(int round, String cause) {
        return ToAgent.newBuilder()
                .setAbortRound(AbortRound.newBuilder().setRound(round).setCause(cause))
                .build();
    }

    static ToAgent stop(int signal, long graceMillis, boolean spareElastic) {
        return ToAgent.newBuilder()
                .setStopWorkers(StopWorkers.newBuilder()
                        .setSignal(signal)
                        .setGraceMillis((int) Math.min(graceMillis, Integer.MAX_VALUE))
                        .setSpareElastic(spareElastic))
                .build();
    }

    static ToAgent regroup(int round, String why) {
        return ToAgent.newBuilder()
                .setRegroup(Regroup.newBuilder().setRound(round).setWhy(why))
                .build();
    }

    static ToAgent signal(int signal) {
        return ToAgent.newBuilder()
                .setSignalWorkers(SignalWorkers.newBuilder().setSignal(signal))
                .build();
    }

    static ToAgent checkpoint() {
        return ToAgent.newBuilder()
                .setCheckpointNow(CheckpointNow.getDefaultInstance())
                .build();
    }

    /** @param asker a rank, or {@link LocationQueries#LAUNCHER} */
    static ToAgent locate(int asker, int round, Frame.Locate question) {
        return ToAgent.newBuilder()
                .setLocate(Locate.newBuilder()
                        .setAsker(asker)
                        .setRound(round)
                        .setId(question.id())
                        .setRank(question.rank())
                        .setGroup(question.group())
                        .setSequence(question.sequence()))
                .build();
    }

    /** A frame of the launcher to a worker of round {@code round}. */
    static ToAgent frame(int rank, int round, Frame.FromLauncher frame) {
        return frame(rank, round, ByteString.copyFrom(FrameCodec.encode(frame)));
    }

    /** @param encoded by {@link FrameCodec} */
    static ToAgent frame(int rank, int round, ByteString encoded) {
        return ToAgent.newBuilder()
                .setWorkerFrame(
                        WorkerFrame.newBuilder().setRank(rank).setRound(round).setFrame(encoded))
                .build();
    }

    /** The frame that a worker has sent to the launcher. */
    static Frame.ToLauncher fromWorker(ByteString encoded) throws IOException {
        if (decode(encoded) instanceof Frame.ToLauncher frame) {
            return frame;
        }
        throw new IOException("the frame is not one to the launcher");
    }

    /** The answer to a {@link Locate}. */
    static Frame.Location location(ByteString encoded) throws IOException {
        if (decode(encoded) instanceof Frame.Location frame) {
            return frame;
        }
        throw new IOException("the frame is no location");
    }

    private static Frame decode(ByteString encoded) throws IOException {
        try (DataInputStream in = new DataInputStream(encoded.newInput())) {
            return FrameCodec.read(in);
        }
    }

    static WorkerResult end(WorkerExited exited, Placement place) {
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
                exited.getRunSeconds());
    }

    private static WorkerResult.WorkerError error(ErrorRecord error) {
        return new WorkerResult.WorkerError(error.getMessage(), error.getStack());
    }
}
