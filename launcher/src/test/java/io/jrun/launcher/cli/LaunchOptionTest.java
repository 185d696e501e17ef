package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.job.BindTo;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.Cluster.Host;
import io.jrun.launcher.job.Cluster.Ssh;
import io.jrun.launcher.job.Cluster.Standing;
import io.jrun.launcher.job.GpuSubset;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.LogRetention;
import io.jrun.launcher.job.MapBy;
import io.jrun.launcher.job.Program.JavaProgram;
import io.jrun.launcher.job.RendezvousSettings;
import io.jrun.launcher.job.StdinChoice;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.job.StreamChoice;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.job.WorkerSettings.GpuVisibility;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** For every option: its default, and a value given in each place it may come from. */
class LaunchOptionTest {
    /** @param text a value that is not the default */
    record Case(LaunchOption option, Object byDefault, String text, Object meaning, Function<JobSpec, Object> read) {
        @Override
        public String toString() {
            return option.longName();
        }
    }

    /** They say how a description is found, where it runs from, and what a program other than train.jar is. */
    private static final Set<LaunchOption> NOT_OF_THE_JOB =
            EnumSet.of(LaunchOption.FILE, LaunchOption.DETACH, LaunchOption.MODULE, LaunchOption.RUN_PATH);

    @TempDir
    private Path folder;

    private Requests requests;

    @BeforeEach
    void makeFiles() throws IOException {
        requests = new Requests(folder);
        Files.createDirectories(folder.resolve("work"));
        Files.createDirectories(folder.resolve("jdk/bin"));
        Files.writeString(folder.resolve("jdk/bin/java"), "");
        assertThat(folder.resolve("jdk/bin/java").toFile().setExecutable(true)).isTrue();
        Files.writeString(folder.resolve("secret"), "x");
        Files.writeString(folder.resolve("hosts.txt"), "h1 slots=4\n");
    }

    static Stream<Case> otherCases() {
        return Stream.of(
                new Case(LaunchOption.NNODES, "train.jar", "1:1", "train.jar", LaunchOptionTest::programName),
                new Case(
                        LaunchOption.NPROC_PER_NODE,
                        new WorkerCount.ByDefault(),
                        "3",
                        new WorkerCount.Exactly(3),
                        job -> job.placement().perNode()),
                new Case(
                        LaunchOption.NTASKS,
                        new WorkerCount.ByDefault(),
                        "3",
                        new WorkerCount.Exactly(3),
                        job -> job.placement().perNode()),
                new Case(LaunchOption.STANDALONE, "train.jar", "true", "train.jar", LaunchOptionTest::programName),
                new Case(
                        LaunchOption.RUN_ID,
                        true,
                        "night-7",
                        false,
                        job -> !job.runId().equals("night-7")),
                new Case(LaunchOption.SPARES, 0, "0", 0, job -> job.nodes().spares()),
                new Case(
                        LaunchOption.JOIN_TIMEOUT,
                        Duration.ofSeconds(60),
                        "5m",
                        Duration.ofMinutes(5),
                        job -> job.nodes().joinTimeout()),
                new Case(
                        LaunchOption.NODE_COOLDOWN,
                        Duration.ofSeconds(30),
                        "3",
                        Duration.ofSeconds(3),
                        job -> job.nodes().coolDown()),
                new Case(
                        LaunchOption.RESTART_WINDOW,
                        Optional.empty(),
                        "1h",
                        Optional.of(Duration.ofHours(1)),
                        job -> job.nodes().restartWindow()),
                new Case(LaunchOption.MAX_RESTARTS, 0, "4", 4, job -> job.stop().maxRestarts()),
                new Case(
                        LaunchOption.TIMEOUT,
                        Optional.empty(),
                        "2m",
                        Optional.of(Duration.ofMinutes(2)),
                        JobSpec::timeout),
                new Case(
                        LaunchOption.JAVA,
                        "",
                        "jdk",
                        "jdk",
                        job -> last(java(job).javaHome())),
                new Case(
                        LaunchOption.MAIN_CLASS,
                        "app.Train",
                        "app.Other",
                        "app.Other",
                        job -> java(job).mainClass()),
                new Case(
                        LaunchOption.CLASSPATH,
                        List.of("train.jar"),
                        "work",
                        List.of("train.jar", "work"),
                        job -> java(job).classPath().stream()
                                .map(LaunchOptionTest::last)
                                .toList()),
                new Case(
                        LaunchOption.BLAS,
                        List.of("train.jar"),
                        "mkl",
                        List.of(
                                "train.jar",
                                "mkl-2025.2-1.5.12.jar",
                                "mkl-2025.2-1.5.12-linux-x86_64-redist.jar",
                                "-Dorg.bytedeco.openblas.load=mkl_rt"),
                        job -> Stream.concat(
                                        java(job).classPath().stream().map(LaunchOptionTest::last),
                                        java(job).jvmOptions().stream())
                                .toList()),
                new Case(
                        LaunchOption.JVM_OPTS,
                        List.of(),
                        "-Xmx2g '-Da=b c'",
                        List.of("-Xmx2g", "-Da=b c"),
                        job -> java(job).jvmOptions()),
                new Case(
                        LaunchOption.BACKEND,
                        Map.of(),
                        "gloo",
                        Map.of("JRUN_BACKEND", "gloo"),
                        job -> job.workers().environment()),
                new Case(
                        LaunchOption.ENCRYPT,
                        Map.of(),
                        "true",
                        Map.of("JRUN_ENCRYPT", "1"),
                        job -> job.workers().environment()),
                new Case(
                        LaunchOption.ENV,
                        Map.of(),
                        "A=b=c",
                        Map.of("A", "b=c"),
                        job -> job.workers().environment()),
                new Case(
                        LaunchOption.WORKDIR,
                        false,
                        "work",
                        true,
                        job -> job.workers().workingDirectory().endsWith("work")),
                new Case(
                        LaunchOption.STAGE,
                        0,
                        "work",
                        1,
                        job -> job.workers().staged().size()),
                new Case(LaunchOption.NO_JAVA, true, "true", false, job -> job.program() instanceof JavaProgram),
                new Case(
                        LaunchOption.GPU_VISIBILITY,
                        GpuVisibility.ONE_BY_DEFAULT,
                        "all",
                        GpuVisibility.ALL,
                        job -> job.workers().gpuVisibility()),
                new Case(
                        LaunchOption.VIRTUAL_LOCAL_RANK,
                        false,
                        "true",
                        true,
                        job -> job.workers().virtualLocalRank()),
                new Case(
                        LaunchOption.ROLE,
                        "default",
                        "actor",
                        "actor",
                        job -> job.workers().role()),
                new Case(
                        LaunchOption.STDIN,
                        StdinChoice.NONE,
                        "3",
                        StdinChoice.of(3),
                        job -> job.workers().stdin()),
                new Case(
                        LaunchOption.MASTER_PORT,
                        0,
                        "29500",
                        29500,
                        job -> job.workers().masterPort()),
                new Case(
                        LaunchOption.LOG_DIR,
                        "logs",
                        "elsewhere",
                        "elsewhere",
                        job -> last(job.logDirectory().toString())),
                new Case(
                        LaunchOption.LOG_LIMIT,
                        Optional.empty(),
                        "10M",
                        Optional.of(new LogRetention(10 << 20, 5)),
                        JobSpec::logs),
                new Case(
                        LaunchOption.REDIRECTS,
                        StreamChoice.NONE,
                        "0:3,11:1",
                        new StreamChoice(0, Map.of(0, 3, 11, 1)),
                        job -> job.console().redirects()),
                new Case(
                        LaunchOption.TEE,
                        StreamChoice.NONE,
                        "2",
                        new StreamChoice(2, Map.of()),
                        job -> job.console().tee()),
                new Case(
                        LaunchOption.LOCAL_RANKS_FILTER,
                        Optional.empty(),
                        "0,2-4",
                        Optional.of(Set.of(0, 2, 3, 4)),
                        job -> job.console().localRanks()),
                new Case(
                        LaunchOption.RANKS_FILTER,
                        Optional.empty(),
                        "10",
                        Optional.of(Set.of(10)),
                        job -> job.console().ranks()),
                new Case(
                        LaunchOption.METRICS_PORT,
                        Optional.empty(),
                        "9400",
                        Optional.of(InetSocketAddress.createUnresolved("127.0.0.1", 9400)),
                        job -> job.observation().metricsAddress()),
                new Case(
                        LaunchOption.TRACK,
                        Optional.empty(),
                        "mlflow:http://tracking:5000",
                        Optional.of(URI.create("http://tracking:5000")),
                        job -> job.observation().mlflow()),
                new Case(
                        LaunchOption.REPORT,
                        Optional.empty(),
                        "report.html",
                        Optional.of("report.html"),
                        job -> job.observation().report().map(file -> last(file.toString()))),
                new Case(
                        LaunchOption.TRACE,
                        false,
                        "true",
                        true,
                        job -> job.observation().wholeTimelines()),
                new Case(
                        LaunchOption.NO_PREFIX,
                        true,
                        "true",
                        false,
                        job -> job.console().prefixed()),
                new Case(LaunchOption.JSON, false, "true", true, JobSpec::json),
                new Case(
                        LaunchOption.SHUTDOWN_TIMEOUT,
                        Duration.ofSeconds(30),
                        "1.5",
                        Duration.ofMillis(1500),
                        job -> job.stop().gracePeriod()),
                new Case(
                        LaunchOption.WORKER_TIMEOUT,
                        Optional.of(Duration.ofSeconds(300)),
                        "20s",
                        Optional.of(Duration.ofSeconds(20)),
                        job -> job.liveness().workerTimeout()),
                new Case(
                        LaunchOption.PROGRESS_TIMEOUT,
                        Optional.empty(),
                        "10m",
                        Optional.of(Duration.ofMinutes(10)),
                        job -> job.liveness().progressTimeout()),
                new Case(
                        LaunchOption.SIGNALS_TO_HANDLE,
                        EnumSet.allOf(StopSignal.class),
                        "SIGTERM,USR1",
                        EnumSet.of(StopSignal.TERM, StopSignal.USR1),
                        job -> job.stop().signals()),
                new Case(LaunchOption.MONITOR_INTERVAL, "train.jar", "5", "train.jar", LaunchOptionTest::programName),
                new Case(LaunchOption.START_METHOD, "train.jar", "fork", "train.jar", LaunchOptionTest::programName),
                new Case(
                        LaunchOption.EVENT_LOG_HANDLER,
                        "train.jar",
                        "null",
                        "train.jar",
                        LaunchOptionTest::programName),
                new Case(LaunchOption.LOGS_SPECS, "train.jar", "default", "train.jar", LaunchOptionTest::programName),
                new Case(
                        LaunchOption.NUMA_BINDING,
                        BindTo.NONE,
                        "exclusive",
                        BindTo.CORE,
                        job -> job.placement().bindTo()),
                new Case(
                        LaunchOption.LOG_LINE_PREFIX_TEMPLATE,
                        Optional.empty(),
                        "[${rank}]",
                        Optional.of("[${rank}]"),
                        job -> job.console().prefixTemplate()),
                new Case(LaunchOption.DRY_RUN, false, "true", true, JobSpec::dryRun),
                new Case(
                        LaunchOption.HOSTS,
                        Optional.empty(),
                        "gpu[1-2]:8,h3",
                        Optional.of(List.of(
                                new Host("gpu1", OptionalInt.of(8)),
                                new Host("gpu2", OptionalInt.of(8)),
                                new Host("h3", OptionalInt.empty()))),
                        job -> job.cluster().map(Cluster::hosts)),
                new Case(
                        LaunchOption.HOSTFILE,
                        Optional.empty(),
                        "hosts.txt",
                        Optional.of(List.of(new Host("h1", OptionalInt.of(4)))),
                        job -> job.cluster().map(Cluster::hosts)),
                new Case(
                        LaunchOption.INCLUDE,
                        Optional.empty(),
                        "h2:0,2",
                        Optional.of(List.of(new Host("h2", OptionalInt.of(2), GpuSubset.only(Set.of(0, 2))))),
                        job -> job.cluster().map(Cluster::hosts)),
                new Case(
                        LaunchOption.EXCLUDE,
                        Optional.empty(),
                        "h1",
                        Optional.of(List.of(new Host("h2", OptionalInt.of(4)))),
                        job -> job.cluster().map(Cluster::hosts)),
                new Case(
                        LaunchOption.MAP_BY,
                        MapBy.SLOT,
                        "node",
                        MapBy.NODE,
                        job -> job.placement().mapBy()),
                new Case(
                        LaunchOption.BIND_TO,
                        BindTo.NONE,
                        "numa",
                        BindTo.NUMA,
                        job -> job.placement().bindTo()),
                new Case(
                        LaunchOption.AGENT_PORT,
                        Optional.empty(),
                        "7001",
                        Optional.of(7001),
                        job -> standing(job).map(Standing::agentPort)),
                new Case(
                        LaunchOption.SECRET_FILE,
                        Optional.empty(),
                        "secret",
                        Optional.of("secret"),
                        job -> standing(job)
                                .map(standing -> last(standing.secretFile().toString()))),
                new Case(LaunchOption.LAUNCH, false, "ssh", true, job -> ssh(job).isPresent()),
                new Case(
                        LaunchOption.SSH_OPTIONS,
                        List.of(),
                        "-p 2222 -l 'the user'",
                        List.of("-p", "2222", "-l", "the user"),
                        job -> ssh(job).map(Ssh::options).orElse(List.of())),
                new Case(
                        LaunchOption.REMOTE_JRUN,
                        "bin/jrun",
                        "/opt/jrun",
                        "/opt/jrun",
                        job -> ssh(job).map(Ssh::jrun).orElse("bin/jrun")));
    }

    static Stream<Case> cases() {
        return Stream.of(otherCases(), meetingCases(), ContainerCases.all()).flatMap(cases -> cases);
    }

    private static Stream<Case> meetingCases() {
        return Stream.of(
                new Case(
                        LaunchOption.NODE_RANK,
                        OptionalInt.empty(),
                        "1",
                        OptionalInt.of(1),
                        job -> job.rendezvous()
                                .map(RendezvousSettings::nodeRank)
                                .orElse(OptionalInt.empty())),
                new Case(
                        LaunchOption.RDZV_ENDPOINT,
                        Optional.empty(),
                        "localhost",
                        Optional.of("localhost:29400"),
                        LaunchOptionTest::meetsAt),
                new Case(
                        LaunchOption.MASTER_ADDR,
                        Optional.empty(),
                        "localhost",
                        Optional.of("localhost:29500"),
                        LaunchOptionTest::meetsAt),
                new Case(
                        LaunchOption.RDZV_ID,
                        Optional.empty(),
                        "j1",
                        Optional.of("j1"),
                        job -> job.rendezvous().map(RendezvousSettings::job)),
                new Case(
                        LaunchOption.RDZV_CONF,
                        Optional.empty(),
                        "join_timeout=5,read_timeout=60",
                        Optional.of(Duration.ofSeconds(5)),
                        job -> job.rendezvous().map(RendezvousSettings::joinTimeout)),
                new Case(
                        LaunchOption.RDZV_BACKEND,
                        Optional.empty(),
                        "c10d",
                        Optional.of(RendezvousSettings.Hosting.FIRST_TO_LISTEN),
                        job -> job.rendezvous().map(RendezvousSettings::hosting)),
                new Case(
                        LaunchOption.LOCAL_ADDR,
                        Optional.empty(),
                        "127.0.0.3",
                        Optional.of("127.0.0.3"),
                        job -> job.rendezvous().map(RendezvousSettings::localAddress)));
    }

    private static Optional<String> meetsAt(JobSpec job) {
        return job.rendezvous().map(rendezvous -> rendezvous.host() + ":" + rendezvous.port());
    }

    private static Optional<Standing> standing(JobSpec job) {
        return job.cluster()
                .filter(cluster -> cluster.reach() instanceof Standing)
                .map(cluster -> (Standing) cluster.reach());
    }

    private static Optional<Ssh> ssh(JobSpec job) {
        return job.cluster().filter(cluster -> cluster.reach() instanceof Ssh).map(cluster -> (Ssh) cluster.reach());
    }

    @Test
    void everyOptionHasACase() {
        assertThat(cases().map(Case::option))
                .containsExactlyInAnyOrderElementsOf(Arrays.stream(LaunchOption.values())
                        .filter(option -> !NOT_OF_THE_JOB.contains(option))
                        .toList());
    }

    @ParameterizedTest
    @MethodSource("cases")
    void defaultHolds(Case given) throws IOException {
        assertThat(given.read().apply(requests.job())).isEqualTo(given.byDefault());
    }

    @ParameterizedTest
    @MethodSource("cases")
    void commandLineSetsIt(Case given) throws IOException {
        String option = given.option().longName() + "=" + given.text();
        assertThat(given.read().apply(job(given.option(), option))).isEqualTo(given.meaning());
        String underscored = "--" + given.option().key().replace('-', '_') + "=" + given.text();
        assertThat(given.read().apply(job(given.option(), underscored))).isEqualTo(given.meaning());
    }

    @ParameterizedTest
    @MethodSource("cases")
    void jrunVariableSetsIt(Case given) throws IOException {
        requests.with(given.option().jrunVariable().orElseThrow(), given.text());
        assertThat(given.read().apply(job(given.option()))).isEqualTo(given.meaning());
    }

    @ParameterizedTest
    @MethodSource("cases")
    void torchVariableSetsItAndJrunVariableIsStronger(Case given) throws IOException {
        if (given.option().torchVariable().isEmpty()) {
            return;
        }
        requests.with(given.option().torchVariable().get(), given.text());
        assertThat(given.read().apply(job(given.option()))).isEqualTo(given.meaning());
        if (!given.option().isSwitch()) {
            requests.with(given.option().torchVariable().get(), "unusable");
            requests.with(given.option().jrunVariable().orElseThrow(), given.text());
            assertThat(given.read().apply(job(given.option()))).isEqualTo(given.meaning());
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void jobFileSetsItAndIsStrongerThanTheEnvironment(Case given) throws IOException {
        requests.with(given.option().jrunVariable().orElseThrow(), weaker(given));
        String value = given.option().isSwitch() ? given.text() : "\"" + given.text() + "\"";
        Files.writeString(folder.resolve("job.yaml"), given.option().key() + ": " + value + "\n");
        assertThat(given.read().apply(job(given.option(), "--file=job.yaml"))).isEqualTo(given.meaning());
    }

    @ParameterizedTest
    @MethodSource("cases")
    void commandLineIsStrongerThanTheJobFile(Case given) throws IOException {
        String other = given.option().isSwitch() ? "false" : weaker(given);
        Files.writeString(folder.resolve("job.yaml"), given.option().key() + ": " + other + "\n");
        String option = given.option().longName() + "=" + given.text();
        assertThat(given.read().apply(job(given.option(), "--file=job.yaml", option)))
                .isEqualTo(given.meaning());
    }

    /** Every layer of --env counts; of the others, only the strongest is read. */
    private static String weaker(Case given) {
        return given.option() == LaunchOption.ENV ? given.text().replaceFirst("=.*", "=weaker") : "unusable";
    }

    /** Some options need a companion to be allowed at all. */
    private JobSpec job(LaunchOption option, String... options) throws IOException {
        Stream<String> companion = switch (option) {
            case HOSTS, HOSTFILE -> Stream.of("--secret-file=secret");
            case INCLUDE, EXCLUDE -> Stream.of("--hosts=h1,h2:4", "--secret-file=secret");
            case AGENT_PORT, JOIN_TIMEOUT -> Stream.of("--hosts=h1", "--secret-file=secret");
            case NODE_COOLDOWN -> Stream.of("--hosts=h1,h2", "--nnodes=1:2", "--secret-file=secret");
            case RESTART_WINDOW -> Stream.of("--max-restarts=1");
            case SECRET_FILE -> Stream.of("--hosts=h1");
            case RDZV_ENDPOINT, MASTER_ADDR -> Stream.of("--nnodes=2");
            case RDZV_BACKEND -> Stream.of("--nnodes=2", "--rdzv-endpoint=localhost", "--node-rank=1");
            case NODE_RANK, RDZV_ID, RDZV_CONF, LOCAL_ADDR -> Stream.of("--nnodes=2", "--rdzv-endpoint=localhost");
            case LAUNCH -> Stream.of("--hosts=h1");
            case SSH_OPTIONS, REMOTE_JRUN -> Stream.of("--hosts=h1", "--launch=ssh");
            case NO_JAVA -> {
                assertThat(folder.resolve("train.jar").toFile().setExecutable(true))
                        .isTrue();
                yield Stream.of();
            }
            case CONTAINER_IMAGE -> Stream.of();
            default -> option.group() == OptionGroup.CONTAINER ? Stream.of("--container-image=/i.sqsh") : Stream.of();
        };
        return requests.job(Stream.concat(Stream.of(options), companion).toArray(String[]::new));
    }

    private static Object programName(JobSpec job) {
        return last(job.program().path());
    }

    private static JavaProgram java(JobSpec job) {
        return (JavaProgram) job.program();
    }

    private static String last(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }
}
