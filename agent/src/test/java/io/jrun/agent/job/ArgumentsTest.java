package io.jrun.agent.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.TestJob;
import io.jrun.agent.proto.ExecutableSpec;
import io.jrun.agent.proto.ProgramSpec;
import io.jrun.agent.proto.Variable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class ArgumentsTest {
    /** Texts that Commons Exec, a shell or jrun's own expansion might change. */
    private static final List<String> AWKWARD = List.of(
            "plain",
            "",
            " ",
            "  leading and trailing  ",
            "two words",
            "'single' \"double\" `back`",
            "\"quoted\"",
            "'",
            "\"",
            "back\\slash\\",
            "$HOME ${HOME} ${unknown} $(id)",
            "*?[a]",
            "line\nbreak\ttab",
            "--help",
            "@file",
            "-",
            "\u00fcn\u00efc\u00f6d\u00e9 \u65e5\u672c \ud83d\ude80",
            "x".repeat(100_000));

    @TempDir
    Path folder;

    @Test
    void argumentsReachTheProgramUnchanged() throws IOException {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            job.launch(job.launch(1)
                    .setProgram(ProgramSpec.newBuilder()
                            .setExecutable(ExecutableSpec.newBuilder().setPath("/bin/sh"))
                            .addArgs("-c")
                            .addArgs("for a; do printf '<%s>\\0' \"$a\"; done")
                            .addArgs("sh")
                            .addAllArgs(AWKWARD)));
            assertThat(job.exited(0).getExitCode()).isZero();
            String expected = "<" + String.join(">\0<", AWKWARD) + ">\0";
            assertThat(job.stdout(0)).isEqualTo(expected);
        }
    }

    @Test
    void rankMacrosAreExpandedPerWorker() throws IOException {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            job.launch(job.launch(2)
                    .setProgram(ProgramSpec.newBuilder()
                            .setExecutable(ExecutableSpec.newBuilder().setPath("echo"))
                            .addArgs("out-${rank}-${local_rank}")));
            job.exited(0);
            job.exited(1);
            assertThat(job.stdout(0) + job.stdout(1)).isEqualTo("out-0-0\nout-1-1\n");
        }
    }

    @Test
    void hugeEnvironmentAndAwkwardValuesArrive() throws IOException {
        String huge = "h".repeat(100_000);
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            job.launch(job.shells(1, "printf %s \"$HUGE\" | wc -c; printf '%s|' \"$EMPTY\" \"$ODD\" \"$RANK\"")
                    .addEnv(Variable.newBuilder().setName("HUGE").setValue(huge))
                    .addEnv(Variable.newBuilder().setName("EMPTY").setValue(""))
                    .addEnv(Variable.newBuilder().setName("ODD").setValue(" a=b \"c\" \n\u00fc "))
                    .addEnv(Variable.newBuilder().setName("RANK").setValue("99")));
            assertThat(job.exited(0).getExitCode()).isZero();
            assertThat(job.stdout(0)).isEqualTo("100000\n| a=b \"c\" \n\u00fc |0|");
        }
    }
}
