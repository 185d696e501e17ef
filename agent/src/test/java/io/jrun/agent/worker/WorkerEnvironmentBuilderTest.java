package io.jrun.agent.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.proto.ExecutableSpec;
import io.jrun.agent.proto.JavaProgramSpec;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.ProgramSpec;
import io.jrun.agent.proto.Variable;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WorkerEnvironmentBuilderTest {
    private static final ProgramSpec JAVA = ProgramSpec.newBuilder()
            .setJava(JavaProgramSpec.getDefaultInstance())
            .build();
    private static final ProgramSpec FOREIGN = ProgramSpec.newBuilder()
            .setExecutable(ExecutableSpec.getDefaultInstance())
            .build();

    @Test
    void containsTorchrunsCompleteSet() {
        LaunchRound launch = Launches.two()
                .setRound(3)
                .setRestartCount(2)
                .setMaxRestarts(5)
                .setWorldSize(8)
                .setNodeRank(1)
                .setNodeCount(4)
                .setMasterAddress("10.0.0.1")
                .setMasterPort(29501)
                .setRole("trainer")
                .setProgram(FOREIGN)
                .build();
        Map<String, String> env = compose(launch, Map.of());
        assertThat(env)
                .containsEntry("RANK", "3")
                .containsEntry("LOCAL_RANK", "1")
                .containsEntry("GROUP_RANK", "1")
                .containsEntry("ROLE_RANK", "3")
                .containsEntry("ROLE_NAME", "trainer")
                .containsEntry("LOCAL_WORLD_SIZE", "2")
                .containsEntry("WORLD_SIZE", "8")
                .containsEntry("GROUP_WORLD_SIZE", "4")
                .containsEntry("ROLE_WORLD_SIZE", "8")
                .containsEntry("MASTER_ADDR", "10.0.0.1")
                .containsEntry("MASTER_PORT", "29501")
                .containsEntry("TORCHELASTIC_RESTART_COUNT", "2")
                .containsEntry("TORCHELASTIC_MAX_RESTARTS", "5")
                .containsEntry("TORCHELASTIC_RUN_ID", "run")
                .containsEntry("TORCHELASTIC_USE_AGENT_STORE", "False")
                .containsEntry("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
                .containsEntry("TORCHELASTIC_ERROR_FILE", "/logs/run/attempt-2/rank-0003/error.json")
                .containsEntry("OMP_NUM_THREADS", "4")
                .containsEntry("CUDA_VISIBLE_DEVICES", "5");
    }

    @Test
    void containsJrunsOwnNames() {
        Map<String, String> env =
                compose(Launches.two().setRound(3).setProgram(JAVA).build(), Map.of());
        assertThat(env)
                .containsEntry("JRUN_RUN_ID", "run")
                .containsEntry("JRUN_ROUND", "3")
                .containsEntry("JRUN_AGENT_SOCKET", "/tmp/jrun-1/agent.sock")
                .containsEntry("JRUN_HOST", "node7")
                .containsEntry("JRUN_NODE_CORES", "8")
                .containsEntry("JRUN_ERROR_FILE", "/logs/run/attempt-2/rank-0003/error.json")
                .containsEntry("JRUN_LOG_DIR", "/logs/run/attempt-2/rank-0003");
    }

    @Test
    void javaKeepsFreedMemoryUnlessTheUserDecides() {
        LaunchRound.Builder launch = Launches.two()
                .addEnv(Variable.newBuilder().setName("MALLOC_TOP_PAD_").setValue("0"));
        assertThat(compose(launch.setProgram(JAVA).build(), Map.of("MALLOC_TRIM_THRESHOLD_", "1")))
                .containsEntry("MALLOC_TOP_PAD_", "0")
                .containsEntry("MALLOC_TRIM_THRESHOLD_", "1")
                .containsEntry("MALLOC_MMAP_THRESHOLD_", "33554432");
        assertThat(compose(launch.setProgram(FOREIGN).build(), Map.of()))
                .containsEntry("MALLOC_TOP_PAD_", "0")
                .doesNotContainKeys("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_");
    }

    @Test
    void userVariablesWinOverInheritedOnesAndDefaultsButNotOverRanks() {
        LaunchRound launch = Launches.two()
                .setProgram(FOREIGN)
                .addEnv(Variable.newBuilder().setName("A").setValue("user"))
                .addEnv(Variable.newBuilder().setName("OMP_NUM_THREADS").setValue("7"))
                .addEnv(Variable.newBuilder().setName("RANK").setValue("0"))
                .build();
        assertThat(compose(launch, Map.of("A", "inherited", "B", "inherited")))
                .containsEntry("A", "user")
                .containsEntry("B", "inherited")
                .containsEntry("OMP_NUM_THREADS", "7")
                .containsEntry("RANK", "3");
    }

    @Test
    void oneVisibleGpuIsTheWorkersOwn() {
        LaunchRound launch = Launches.two().setProgram(JAVA).build();
        assertThat(compose(launch, Map.of("CUDA_VISIBLE_DEVICES", "4,5"))).containsEntry("CUDA_VISIBLE_DEVICES", "5");
    }

    @Test
    void workerWithoutAnyOfItsOwnHasTheInheritedOnes() {
        LaunchRound.Builder launch = Launches.two().setProgram(FOREIGN);
        launch.getWorkersBuilder(1).clearGpu();
        assertThat(compose(launch.build(), Map.of("CUDA_VISIBLE_DEVICES", "4,5")))
                .containsEntry("CUDA_VISIBLE_DEVICES", "4,5");
    }

    @Test
    void virtualLocalRankIsZeroOnTheWorkersOwnGpu() {
        LaunchRound launch =
                Launches.two().setProgram(FOREIGN).setVirtualLocalRank(true).build();
        assertThat(compose(launch, Map.of()))
                .containsEntry("LOCAL_RANK", "0")
                .containsEntry("CUDA_VISIBLE_DEVICES", "5");
    }

    @ParameterizedTest
    @CsvSource({"C", "POSIX", "en_US.ISO-8859-1"})
    void javaWorkersRunInAUtf8Locale(String locale) {
        LaunchRound launch = Launches.two().setProgram(JAVA).build();
        assertThat(compose(launch, Map.of("LC_ALL", locale))).containsEntry("LC_ALL", "C.UTF-8");
        assertThat(compose(launch, Map.of("LANG", "de_DE.utf8"))).doesNotContainKey("LC_ALL");
    }

    @Test
    void optionsForEveryJvmGetTheirNamesBack() {
        assertThat(JvmVariables.restored(Map.of(
                        "JRUN_HIDDEN_JAVA_TOOL_OPTIONS", "-Xmx1g", "JRUN_HIDDEN__JAVA_OPTIONS", "", "PATH", "/bin")))
                .isEqualTo(Map.of("JAVA_TOOL_OPTIONS", "-Xmx1g", "_JAVA_OPTIONS", "", "PATH", "/bin"));
    }

    @Test
    void foreignProgramsGetBackTheLocaleThatTheWrapperReplaced() {
        LaunchRound launch = Launches.two().setProgram(FOREIGN).build();
        assertThat(compose(launch, Map.of("LC_ALL", "C.UTF-8", "JRUN_LC_ALL", "C")))
                .containsEntry("LC_ALL", "C")
                .doesNotContainKey("JRUN_LC_ALL");
        assertThat(compose(launch, Map.of("LC_ALL", "C.UTF-8", "JRUN_LC_ALL", "")))
                .doesNotContainKeys("LC_ALL", "JRUN_LC_ALL");
    }

    private static Map<String, String> compose(LaunchRound launch, Map<String, String> inherited) {
        return WorkerEnvironmentBuilder.compose(launch, launch.getWorkers(1), Launches.context(inherited));
    }
}
