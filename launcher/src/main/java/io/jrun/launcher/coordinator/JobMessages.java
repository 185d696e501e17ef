package io.jrun.launcher.coordinator;

import com.google.protobuf.ByteString;
import io.jrun.agent.container.ContainerName;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.proto.BindPolicy;
import io.jrun.agent.proto.Container;
import io.jrun.agent.proto.ContainerMountEntry;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ExecutableSpec;
import io.jrun.agent.proto.FileEntry;
import io.jrun.agent.proto.FileTree;
import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.OpenJob;
import io.jrun.agent.proto.Variable;
import io.jrun.agent.proto.WorkerSpec;
import io.jrun.launcher.files.JobFiles;
import io.jrun.launcher.job.ConsoleSettings;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.Program;
import io.jrun.launcher.job.WorkerSettings;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.layout.RankMap;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** The description of a job and of its rounds as messages of {@code agent.proto}. Stateless. */
public final class JobMessages {
    private JobMessages() {}

    static ControlRequest open(JobSpec job, String version, ByteString secret, int id, Optional<JobFiles> files) {
        OpenJob.Builder open = OpenJob.newBuilder();
        job.workers()
                .container()
                .ifPresent(container -> open.setContainer(
                        container(container).setJavaProgram(job.program() instanceof Program.JavaProgram)));
        job.logs().ifPresent(limit -> open.setLogFileBytes(limit.fileBytes()).setLogFiles(limit.files()));
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
                .setWholeTimelines(job.observation().wholeTimelines())
                .setWorldSize(ranks.worldSize())
                .setNodeRank(node.nodeRank())
                .setNodeCount(ranks.nodes().size())
                .setMasterAddress(settings.masterAddress().isEmpty() ? first.address() : settings.masterAddress())
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
            launch.addWorkers(worker(place, job, kept.getOrDefault(place.rank(), 0L)));
        }
        return launch.build();
    }

    private static int millis(Optional<Duration> time) {
        return (int) Math.min(time.map(Duration::toMillis).orElse(0L), Integer.MAX_VALUE);
    }

    private static BindPolicy bindTo(JobSpec job) {
        return switch (job.placement().bindTo()) {
            case NONE -> BindPolicy.BIND_POLICY_NONE;
            case CORE -> BindPolicy.BIND_POLICY_CORE;
            case NUMA -> BindPolicy.BIND_POLICY_NUMA;
            case GPU -> BindPolicy.BIND_POLICY_GPU;
        };
    }

    private static WorkerSpec worker(Placement place, JobSpec job, long keptPid) {
        ConsoleSettings console = job.console();
        return WorkerSpec.newBuilder()
                .setRank(place.rank())
                .setLocalRank(place.localRank())
                .setConsoleStdout(console.printsStdout(place.rank(), place.localRank()))
                .setConsoleStderr(console.printsStderr(place.rank(), place.localRank()))
                .setGpu(place.gpu())
                .setStdin(job.workers().stdin().reaches(place.rank()))
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
}
