package io.jrun.agent.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.agent.proto.BindPolicy;
import io.jrun.agent.proto.ExecutableSpec;
import io.jrun.agent.proto.JavaProgramSpec;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.ProgramSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WorkerCommandTest {
    private static final JavaProgramSpec.Builder PROGRAM = JavaProgramSpec.newBuilder()
            .setJavaHome("/jdk")
            .addClassPath("train.jar")
            .addClassPath("lib/more.jar")
            .setMainClass("com.example.Train");

    @Test
    void runtimeJarsComeBeforeTheUsers() {
        List<String> command = java(PROGRAM, 8);
        int cp = command.indexOf("-cp");
        assertThat(command.getFirst()).isEqualTo("/jdk/bin/java");
        assertThat(command.subList(cp, command.size()))
                .containsExactly(
                        "-cp",
                        "/jrun/comm.jar:/jrun/train.jar:train.jar:lib/more.jar",
                        "io.jrun.comm.worker.WorkerMain",
                        "com.example.Train",
                        "--out=3-1",
                        "${other}",
                        "${rank} $1 $rank");
    }

    @Test
    void usersJvmOptionsComeLastAndThereforeWin() {
        List<String> command = java(
                PROGRAM.clone()
                        .addManifestOptions("--add-opens=a/b=ALL-UNNAMED")
                        .addJvmOptions("-Xmx1g"),
                8);
        assertThat(command)
                .containsSubsequence("-XX:MaxRAMPercentage=25.00", "--add-opens=a/b=ALL-UNNAMED", "-Xmx1g", "-cp");
    }

    @Test
    void collectorFitsTheCoresOfOneWorker() {
        assertThat(java(PROGRAM, 2)).contains("-XX:+UseSerialGC");
        assertThat(java(PROGRAM, 16)).contains("-XX:+UseG1GC", "-XX:ParallelGCThreads=8", "-XX:ConcGCThreads=2");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-XX:+UseZGC", "-XX:+UseParallelGC", "@options"})
    void collectorIsLeftOutWhereTheUserMayHaveChosenOne(String option) {
        assertThat(java(PROGRAM.clone().addJvmOptions(option), 2)).doesNotContain("-XX:+UseSerialGC");
    }

    @Test
    void collectorIsLeftOutWhereTheEnvironmentChoosesOne() {
        LaunchRound launch = launch(PROGRAM);
        LaunchContext context = Launches.context(Map.of("JAVA_TOOL_OPTIONS", "-Dx=1 -XX:+UseZGC"), 2);
        assertThat(WorkerCommand.compose(launch, launch.getWorkers(1), context))
                .noneMatch(option -> option.startsWith("-XX:+Use"));
    }

    @Test
    void heapIsOfTheMemoryThatSlurmGave() {
        LaunchRound launch = launch(PROGRAM);
        Map<String, String> job = Map.of("SLURM_JOB_ID", "1", "SLURM_MEM_PER_CPU", "1024", "SLURM_CPUS_ON_NODE", "4");
        assertThat(WorkerCommand.compose(launch, launch.getWorkers(1), Launches.context(job)))
                .contains("-XX:MaxRAMPercentage=6.25"); // 2 workers share half of 4 GiB, of 16 that a JVM finds
        Map<String, String> perGpu =
                Map.of("SLURM_JOB_ID", "1", "SLURM_MEM_PER_GPU", "4096", "SLURM_GPUS_ON_NODE", "2");
        assertThat(WorkerCommand.compose(launch, launch.getWorkers(1), Launches.context(perGpu)))
                .contains("-XX:MaxRAMPercentage=12.50");
        Map<String, String> wholeNode = Map.of("SLURM_JOB_ID", "1", "SLURM_MEM_PER_NODE", "0");
        assertThat(WorkerCommand.compose(launch, launch.getWorkers(1), Launches.context(wholeNode)))
                .contains("-XX:MaxRAMPercentage=25.00");
    }

    @Test
    void processorsAreThoseThatSlurmGave() {
        LaunchRound launch = launch(PROGRAM);
        LaunchContext job = Launches.context(Map.of("SLURM_JOB_ID", "1", "SLURM_CPUS_ON_NODE", "4"), 4);
        assertThat(WorkerCommand.compose(launch, launch.getWorkers(1), job)).contains("-XX:ActiveProcessorCount=4");
        LaunchRound bound =
                launch.toBuilder().setBindTo(BindPolicy.BIND_POLICY_CORE).build();
        assertThat(WorkerCommand.compose(bound, launch.getWorkers(1), job))
                .noneMatch(word -> word.contains("ActiveProcessorCount"));
        assertThat(java(PROGRAM, 4)).noneMatch(word -> word.contains("ActiveProcessorCount"));
    }

    @Test
    void boundWorkerIsStartedThroughTaskset() {
        LaunchRound launch = launch(PROGRAM).toBuilder()
                .setBindTo(BindPolicy.BIND_POLICY_CORE)
                .build();
        assertThat(WorkerCommand.compose(launch, launch.getWorkers(1), Launches.context(Map.of())))
                .startsWith("taskset", "-c")
                .element(3)
                .asString()
                .endsWith("bin/java");
    }

    @Test
    void crashFilesGoToTheRanksFolder() {
        assertThat(java(PROGRAM, 8))
                .contains(
                        "-XX:ErrorFile=/logs/run/attempt-0/rank-0003/hs_err_pid%p.log",
                        "-XX:HeapDumpPath=/logs/run/attempt-0/rank-0003");
    }

    @Test
    void archiveIsUsedFromWhenItIsThere(@TempDir Path cache) throws IOException {
        Path archive = cache.resolve("worker.jsa");
        LaunchRound launch = launch(PROGRAM);
        LaunchContext plain = Launches.context(Map.of());
        LaunchContext context = new LaunchContext(
                plain.node(),
                new AgentOptions("1", List.of(), Optional.of(archive)),
                plain.runId(),
                plain.runLogDir(),
                plain.socket(),
                plain.inherited());
        String option = "-XX:SharedArchiveFile=" + archive;
        assertThat(WorkerCommand.compose(launch, launch.getWorkers(0), context)).doesNotContain(option);
        Files.createFile(archive);
        assertThat(WorkerCommand.compose(launch, launch.getWorkers(0), context)).contains(option);
    }

    @Test
    void foreignProgramIsItsPathAndArguments() {
        LaunchRound launch = Launches.two()
                .setProgram(ProgramSpec.newBuilder()
                        .setExecutable(ExecutableSpec.newBuilder().setPath("python3"))
                        .addArgs("train.py")
                        .addArgs("${rank}/${local_rank}"))
                .build();
        assertThat(WorkerCommand.compose(launch, launch.getWorkers(1), Launches.context(Map.of())))
                .containsExactly("python3", "train.py", "3/1");
    }

    @Test
    void launchWithoutProgramIsRefused() {
        LaunchRound launch = Launches.two().build();
        assertThatThrownBy(() -> WorkerCommand.compose(launch, launch.getWorkers(0), Launches.context(Map.of())))
                .hasMessageContaining("names neither a Java program nor an executable");
    }

    private static List<String> java(JavaProgramSpec.Builder program, int cores) {
        LaunchRound launch = launch(program);
        return WorkerCommand.compose(launch, launch.getWorkers(1), Launches.context(Map.of(), cores));
    }

    private static LaunchRound launch(JavaProgramSpec.Builder program) {
        return Launches.two()
                .setRound(1)
                .setProgram(ProgramSpec.newBuilder()
                        .setJava(program)
                        .addArgs("--out=${rank}-${local_rank}")
                        .addArgs("${other}")
                        .addArgs("$${rank} $$${local_rank} $rank"))
                .build();
    }
}
