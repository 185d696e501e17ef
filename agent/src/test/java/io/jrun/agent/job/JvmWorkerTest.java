package io.jrun.agent.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.TestJob;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ExecutableSpec;
import io.jrun.agent.proto.JavaProgramSpec;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.ProgramSpec;
import io.jrun.agent.proto.SignalWorkers;
import io.jrun.agent.proto.Variable;
import io.jrun.agent.proto.WorkerExitedReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class JvmWorkerTest {
    private static final String JAVA = System.getProperty("java.home") + "/bin/java";
    private static final String CLASS_PATH = System.getProperty("java.class.path");
    private static final int SIGUSR1 = 10;
    private static final int SIGUSR2 = 12;

    @TempDir
    Path folder;

    @Test
    void jvmWithoutHandlersSurvivesUserSignals() throws IOException {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            String java = "exec '%s' -XX:+UseSerialGC -cp '%s' %s wait '%s' go"
                    .formatted(JAVA, CLASS_PATH, JvmWorkerMain.class.getName(), folder);
            job.launch(
                    job.shells(
                            2,
                            "[ $RANK = 1 ] || " + java
                                    + "; trap 'echo one' USR1; trap 'echo two; exit' USR2; echo ready; while :; do sleep 0.05; done"));
            job.awaitStdout(0, "ready");
            job.awaitStdout(1, "ready");
            signal(job, SIGUSR1);
            job.awaitStdout(1, "one");
            signal(job, SIGUSR2);
            job.exited(1); // signals go out in rank order, so rank 0 has had both
            Files.createFile(folder.resolve("go"));
            assertThat(job.exited(0).getExitCode()).isZero();
        }
    }

    @Test
    void unicodeArgumentsAndVariablesReachAJvm() throws IOException {
        String text = "\u00fcn\u00efc\u00f6d\u00e9 \u65e5\u672c \ud83d\ude80";
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            job.launch(jvm(job, "echo", text)
                    .addEnv(Variable.newBuilder().setName("GREETING").setValue(text)));
            assertThat(job.exited(0).getExitCode()).isZero();
            assertThat(job.stdout(0)).isEqualTo(text + "\n" + text + "\n");
        }
    }

    @Test
    void crashReportIsFoundInTheRanksFolder() throws IOException {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            Path report = job.rankDir(0).resolve("hs_err_pid1.log");
            job.launch(job.shells(
                    1, "echo crash > '" + report + "'; echo '{\"message\":\"text\"}' > $JRUN_ERROR_FILE; exit 1"));
            assertThat(job.exited(0).getArtifactsList()).containsExactly(report.toString());
            assertThat(job.exited(0).getError().getMessage()).isEqualTo("text");
        }
    }

    @Test
    void javaProgramRunsWithoutTheIncubatorLine() throws IOException {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            job.launch(java(job, "echo", "hello")
                    .addEnv(Variable.newBuilder().setName("GREETING").setValue("there")));
            assertThat(job.exited(0).getExitCode()).isZero();
            assertThat(job.stdout(0)).isEqualTo("hello\nthere\n");
            assertThat(job.stderr(0)).isEmpty();
        }
    }

    @Test
    void exceptionThatEscapesMainIsReportedInTheWorkersOwnWords() throws IOException {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            job.launch(java(job, "fail"));
            WorkerExitedReport exited = job.exited(0);
            assertThat(exited.getExitCode()).isEqualTo(1);
            assertThat(exited.getError().getMessage()).isEqualTo("java.lang.IllegalStateException: no more cheese");
            assertThat(exited.getError().getStack()).contains("JvmWorkerMain.main");
        }
    }

    @Test
    void fullHeapIsReportedInWords() throws IOException {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            LaunchRound.Builder launch = java(job, "fill");
            launch.getProgramBuilder().getJavaBuilder().addJvmOptions("-Xmx32m");
            launch.getProgramBuilder().getJavaBuilder().addJvmOptions("-XX:+HeapDumpOnOutOfMemoryError");
            job.launch(launch);
            WorkerExitedReport exited = job.exited(0);
            assertThat(exited.getExitCode()).isNotZero();
            assertThat(exited.getError().getMessage()).startsWith("java.lang.OutOfMemoryError");
            assertThat(exited.getArtifactsList()).singleElement().asString().endsWith(".hprof");
        }
    }

    private static LaunchRound.Builder java(TestJob job, String... args) {
        return job.launch(1)
                .setProgram(ProgramSpec.newBuilder()
                        .setJava(JavaProgramSpec.newBuilder()
                                .addJvmOptions("-XX:TieredStopAtLevel=1")
                                .setMainClass(JvmWorkerMain.class.getName()))
                        .addAllArgs(List.of(args)));
    }

    private static void signal(TestJob job, int signal) {
        job.send(ControlRequest.newBuilder()
                .setSignalWorkers(SignalWorkers.newBuilder().setSignal(signal))
                .build());
    }

    private static LaunchRound.Builder jvm(TestJob job, String... args) {
        return job.launch(1)
                .setProgram(ProgramSpec.newBuilder()
                        .setExecutable(ExecutableSpec.newBuilder().setPath(JAVA))
                        .addAllArgs(List.of("-XX:+UseSerialGC", "-cp", CLASS_PATH, JvmWorkerMain.class.getName()))
                        .addAllArgs(List.of(args)));
    }
}
