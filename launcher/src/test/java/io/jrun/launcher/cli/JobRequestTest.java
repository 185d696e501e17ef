package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.Program.Executable;
import io.jrun.launcher.job.Program.JavaProgram;
import io.jrun.launcher.job.RendezvousSettings;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.job.TerminalStreams;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.job.WorkerSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JobRequestTest {
    @TempDir
    private Path folder;

    private Requests requests;

    @BeforeEach
    void makeFiles() throws IOException {
        requests = new Requests(folder);
    }

    /** A name that this machine alone maps to a loopback address leads other machines here. */
    @ParameterizedTest
    @CsvSource({
        "localhost, true",
        "localhost.localdomain, true",
        "ip6-localhost, true",
        "job.localhost, true",
        "127.0.0.1, true",
        "127.0.1.1, true",
        "[::1], true",
        "10.99.0.1, false",
        "head, false",
        "localhost7, false",
        "0177.0.0.1, false"
    })
    void onlyLoopbackOfEveryMachineKeepsAJobOnOne(String host, boolean isOnOne) {
        assertThat(requests.job("--nnodes=2", "--rdzv-endpoint=" + host + ":29400")
                        .rendezvous()
                        .orElseThrow()
                        .isOnOneMachine())
                .isEqualTo(isOnOne);
    }

    @ParameterizedTest
    @CsvSource({"90, 90", "1.5m, 90", "1:30, 90", "1:30:00, 5400", "01:00:05, 3605", "2-12, 216000", "1-0:30, 88200"})
    void aTimeHasAUnitOrAFormOfSlurm(String text, long seconds) {
        assertThat(requests.job("--timeout=" + text).timeout()).hasValue(Duration.ofSeconds(seconds));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "1K", "10M:1", "10M:1001", "10X", "10M:", "-5M", "99999999999"})
    void aLimitOfLogsIsASizeAndANumberOfFiles(String text) {
        assertThatThrownBy(() -> requests.job("--log-limit=" + text))
                .isInstanceOf(UsageException.class)
                .hasMessage("--log-limit: '" + text + "' is not usable; give SIZE or SIZE:FILES, as 10M or 100M:3, with"
                        + " at least 4096 bytes and 2 to 1000 files.");
    }

    @Test
    void variablesOfTheNetworkLibrariesReachTheWorkersOfAllHosts() {
        requests.with("NCCL_DEBUG", "INFO")
                .with("FI_PROVIDER", "efa")
                .with("UCX_TLS", "rc")
                .with("NCCLX", "no");
        assertThat(requests.job("--hosts=h1,h2", "--launch=ssh", "--env=NCCL_DEBUG=WARN")
                        .workers()
                        .environment())
                .containsExactlyInAnyOrderEntriesOf(
                        Map.of("NCCL_DEBUG", "WARN", "FI_PROVIDER", "efa", "UCX_TLS", "rc"));
        assertThat(requests.job("--nnodes=2", "--rdzv-endpoint=localhost", "--node-rank=1")
                        .workers()
                        .environment())
                .as("each node has its own environment")
                .isEmpty();
    }

    @Test
    void everythingAfterTheProgramIsTheProgramsOwn() {
        JobSpec job = requests.run(
                "--nproc-per-node",
                "2",
                "train.jar",
                "--help",
                "@file",
                "--nproc-per-node=9",
                "--",
                "-r",
                "",
                "version");
        assertThat(job.program().args())
                .containsExactly("--help", "@file", "--nproc-per-node=9", "--", "-r", "", "version");
    }

    @Test
    void twoDashesEndTheOptions() {
        assertThat(requests.run("--json", "--", "train.jar", "a").program().args())
                .containsExactly("a");
    }

    @Test
    void lastOccurrenceWinsAndListsAddUp() {
        JobSpec job = requests.job("--role=a", "--env=A=1", "--role=b", "--env", "B=x y");
        assertThat(job.workers().role()).isEqualTo("b");
        assertThat(job.workers().environment()).isEqualTo(Map.of("A", "1", "B", "x y"));
    }

    @Test
    void shortOptionsTakeTheirValueEitherWay() {
        assertThat(requests.job("-r3", "-t", "1").console().redirects().hasStderr(7))
                .isTrue();
        assertThat(requests.job("-r3", "-t", "1").console().tee().hasStdout(7)).isTrue();
    }

    @Test
    void aFileThatIsNoJarIsAnExecutable() throws IOException {
        JobSpec job = requests.run("--nproc-per-node", "2", "sh", "-c", "exit 3");
        assertThat(job.program()).isInstanceOf(Executable.class);
        assertThat(job.program().path()).endsWith("/sh").startsWith("/");
        assertThat(job.program().args()).containsExactly("-c", "exit 3");
    }

    @Test
    void workersFindTheAddressOfTheStaticRendezvous() {
        WorkerSettings alone =
                requests.job("--master-addr=[::1]", "--master-port=29501").workers();
        assertThat(alone.masterAddress() + " " + alone.masterPort()).isEqualTo("::1 29501");
        WorkerSettings fixed = requests.job("--nnodes=2", "--master-addr=localhost", "--node-rank=0")
                .workers();
        assertThat(fixed.masterAddress() + " " + fixed.masterPort()).isEqualTo("localhost 29500");
        WorkerSettings elastic =
                requests.job("--nnodes=1:2", "--master-addr=localhost").workers();
        assertThat(elastic.masterAddress() + " " + elastic.masterPort()).isEqualTo(" 0");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "join_timeout=5,last_call_timeout=1,timeout=9",
                "'join_timeout=5,last_call_timeout=1,timeout=9'",
                "\"timeout=5, last_call_timeout=1\" "
            })
    void settingsOfTheRendezvousMayStandInQuotes(String conf) {
        RendezvousSettings rendezvous = requests.job("--nnodes=1:2", "--master-addr=localhost", "--rdzv-conf=" + conf)
                .rendezvous()
                .orElseThrow();
        assertThat(rendezvous.joinTimeout()).hasSeconds(5);
        assertThat(rendezvous.lastCall()).hasSeconds(1);
    }

    @Test
    void jarIsKnownByItsContentToo() throws IOException {
        Files.copy(folder.resolve("train.jar"), folder.resolve("train"));
        assertThat(requests.run("./train").program()).isInstanceOf(JavaProgram.class);
    }

    @Test
    void pythonRunsModulesAndScriptsThatAreNotExecutable() throws IOException {
        Files.writeString(folder.resolve("train.py"), "print()");
        requests.with("PYTHON_EXEC", "/bin/sh");
        for (List<String> words : List.of(List.of("train.py", "-m"), List.of("--run-path", "train.py", "-m"))) {
            JobSpec job = requests.run(words.toArray(String[]::new));
            assertThat(job.program().path()).isEqualTo("/bin/sh");
            assertThat(job.program().args()).containsExactly("-u", "train.py", "-m");
        }
        assertThat(requests.run("-m", "app.train", "--x").program().args())
                .containsExactly("-u", "-m", "app.train", "--x");
        requests.with("PET_MODULE", "1");
        assertThat(requests.run("app.train").program().args()).containsExactly("-u", "-m", "app.train");
        requests.with("PET_MODULE", "0");
        assertThat(requests.run("train.jar").program()).isInstanceOf(JavaProgram.class);
    }

    @Test
    void folderOfClassesRunsWithAMainClass() throws IOException {
        Files.createDirectories(folder.resolve("classes/app"));
        Files.createFile(folder.resolve("classes/app/Main.class"));
        JavaProgram program =
                (JavaProgram) requests.run("--main-class=app.Main", "classes").program();
        assertThat(program.mainClass()).isEqualTo("app.Main");
        assertThat(program.classPath())
                .containsExactly(folder.resolve("classes").toString());
    }

    @Test
    void mainClassIsLookedForWhereTheJvmFindsIt() throws IOException {
        Files.createDirectories(folder.resolve("lib"));
        requests.jar("lib/far.jar", Map.of("Main-Class", "far.Main"));
        requests.jar("near.jar", Map.of("Class-Path", "lib/far.jar"));
        for (List<String> words : List.of(
                List.of("--main-class=far.Main", "--classpath=lib/*", "train.jar"),
                List.of("--main-class=far.Main", "--classpath=near.jar", "train.jar"),
                List.of("--main-class=com.sun.tools.javac.Main", "train.jar"),
                List.of("--main-class=app.Made", "--jvm-opts=-javaagent:maker.jar", "train.jar"))) {
            assertThat(requests.run(words.toArray(String[]::new)).program()).isInstanceOf(JavaProgram.class);
        }
    }

    @Test
    void manifestIsHonoured() throws IOException {
        requests.jar(
                "fat.jar",
                Map.of(
                        "Main-Class", "app.Main",
                        "Class-Path", "lib/a.jar b%20c.jar http://elsewhere/x.jar",
                        "Add-Opens", "java.base/java.lang java.base/java.nio",
                        "Add-Exports", "java.base/sun.nio.ch",
                        "Enable-Native-Access", "ALL-UNNAMED"));
        JavaProgram program = (JavaProgram) requests.run("fat.jar").program();
        assertThat(program.classPath())
                .containsExactly(
                        folder.resolve("fat.jar").toString(),
                        folder.resolve("lib/a.jar").toString(),
                        folder.resolve("b c.jar").toString());
        assertThat(program.manifestOptions())
                .containsExactly(
                        "--add-opens=java.base/java.lang=ALL-UNNAMED",
                        "--add-opens=java.base/java.nio=ALL-UNNAMED",
                        "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
                        "--enable-native-access=ALL-UNNAMED");
    }

    @Test
    void jobFileNamesProgramAndArguments() throws IOException {
        Files.writeString(folder.resolve("job.yaml"), """
                program: train.jar
                args: [--epochs, 3, "x y"]
                nproc_per_node: 4
                env:
                  A: 1
                  B: true
                jvm-opts: [-Xmx1g, "-Dq='a b'"]
                ranks-filter: [0, 3]
                standalone: true
                """);
        JobSpec job = requests.run("--file", "job.yaml", "--nproc-per-node=2");
        assertThat(job.program().args()).containsExactly("--epochs", "3", "x y");
        assertThat(job.placement().perNode()).hasToString("Exactly[count=2]");
        assertThat(job.workers().environment()).isEqualTo(Map.of("A", "1", "B", "true"));
        assertThat(((JavaProgram) job.program()).jvmOptions()).containsExactly("-Xmx1g", "-Dq=a b");
        assertThat(job.console().printsStdout(3, 3)).isTrue();
        assertThat(job.console().printsStdout(1, 1)).isFalse();
    }

    @Test
    void numbersOfAJobFileStayAsTheyAreWritten() throws IOException {
        Files.writeString(folder.resolve("job.yaml"), """
                program: train.jar
                args: [1.10, 1e3, 0x10, 010, 1_000, yes, True, 12345678901234567890]
                env: {VERSION: 1.10, ZIP: 01234}
                """);
        JobSpec job = requests.run("--file", "job.yaml");
        assertThat(job.program().args())
                .containsExactly("1.10", "1e3", "0x10", "010", "1_000", "yes", "True", "12345678901234567890");
        assertThat(job.workers().environment()).isEqualTo(Map.of("VERSION", "1.10", "ZIP", "01234"));
    }

    @Test
    void filesMayBeginWithAByteOrderMark() throws IOException {
        Files.writeString(folder.resolve("job.yaml"), "\ufeffrole: a\n");
        Files.writeString(folder.resolve("hosts"), "\ufeffh1:2\r\nh2:2\r\n");
        JobSpec job = requests.job("--file=job.yaml", "--hostfile=hosts");
        assertThat(job.workers().role()).isEqualTo("a");
        assertThat(job.cluster().orElseThrow().names()).containsExactly("h1", "h2");
    }

    @Test
    void optionsOfTorchrunOnOneNodeAreAccepted() throws IOException {
        JobSpec job = requests.job(
                "--nnodes=1",
                "--node-rank=0",
                "--rdzv-endpoint=",
                "--rdzv-id=none",
                "--rdzv-conf=",
                "--local-addr=",
                "--master-addr=127.0.0.1",
                "--master-port=29500",
                "--signals-to-handle=SIGTERM,SIGINT,SIGHUP,SIGQUIT");
        assertThat(job.cluster()).isEmpty();
        assertThat(job.stop().signals()).containsExactlyInAnyOrder(StopSignal.TERM, StopSignal.INT, StopSignal.HUP);
    }

    @Test
    void programOfTheCommandLineReplacesTheJobFilesWithItsArguments() throws IOException {
        Files.writeString(folder.resolve("job.json"), "{\"program\": \"other.jar\", \"args\": [\"a\"]}");
        JobSpec job = requests.run("--file=job.json", "train.jar");
        assertThat(job.program().path()).endsWith("train.jar");
        assertThat(job.program().args()).isEmpty();
    }

    @Test
    void innerJobDoesNotTakeTheOuterOnesNameAndLogs() {
        requests.with("JRUN_RUN_ID", "outer").with("JRUN_LOG_DIR", "/outer");
        assertThat(requests.job().runId()).isEqualTo("outer");
        requests.with("JRUN_AGENT_SOCKET", "/run/x");
        assertThat(requests.job().runId()).isNotEqualTo("outer");
        assertThat(requests.job().logDirectory().toString()).doesNotContain("outer");
    }

    @Test
    void generatedRunIdsAreUsableAndDiffer() {
        String first = RunId.generate();
        assertThat(RunId.isUsable(first)).as(first).isTrue();
        assertThat(RunId.generate()).isNotEqualTo(first);
    }

    @Test
    void benchKeepsItsOwnOptions() {
        JobRequest request = bench(
                List.of("allreduce", "--nproc_per_node", "2", "--backend", "jrun,gloo", "--json", "--timeout=60"));
        JobSpec job = ((JobRequest.Run) request).job();
        assertThat(job.program().args()).containsExactly("allreduce", "--backend", "jrun,gloo", "--json");
        assertThat(job.placement().perNode()).hasToString("Exactly[count=2]");
        assertThat(job.json()).isFalse();
        assertThat(job.console().prefixed()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"--backend mpi", "--backend=mpi", "--backend jrun,gloo,mpi", "--backend=mpi,jrun --json"})
    void benchOfMpiIsMpiruns(String line) {
        List<String> args = new ArrayList<>(List.of("allreduce", "--nproc-per-node=4"));
        args.addAll(List.of(line.split(" ")));
        assertThat(bench(args))
                .isInstanceOfSatisfying(
                        JobRequest.RunUnderMpi.class,
                        request ->
                                assertThat(request.job().placement().perNode()).hasToString("Exactly[count=4]"));
    }

    private JobRequest bench(List<String> args) {
        List<String> line = new ArrayList<>(List.of("bench"));
        line.addAll(args);
        return JobRequest.ofBench(ParsedCommand.of(line), benchContext());
    }

    private CommandContext benchContext() {
        try {
            Files.createDirectories(folder.resolve("home/lib/bench"));
            Files.copy(folder.resolve("train.jar"), folder.resolve("home/lib/bench/bench.jar"));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
        return new CommandContext(
                Map.of("HOME", folder.toString()), folder, folder.resolve("home"), folder, TerminalStreams.NONE);
    }
}
