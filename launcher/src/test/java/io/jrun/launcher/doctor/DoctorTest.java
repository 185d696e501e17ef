package io.jrun.launcher.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jrun.launcher.doctor.CheckResult.CheckState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The results of the checks for given facts, and the report of the results. */
class DoctorTest {
    @TempDir
    private Path folder;

    @Test
    void absentThingsAreNoProblemAndProblemsAre() throws InterruptedException {
        Check fine = () -> List.of(CheckResult.ok("jdk", "Java 25"), CheckResult.absent("gpus", "none visible"));
        assertThat(Doctor.examine(List.of(fine)).exitCode()).isZero();
        Doctor sick = Doctor.examine(List.of(fine, () -> List.of(CheckResult.problem("open files", "at most 16"))));
        assertThat(sick.exitCode()).isEqualTo(1);
        assertThat(sick.lines())
                .containsExactly(
                        "ok       jdk            Java 25",
                        "absent   gpus           none visible",
                        "problem  open files     at most 16");
    }

    @Test
    void jsonSaysTheSame() throws InterruptedException, IOException {
        Doctor sick = Doctor.examine(List.of(() -> List.of(CheckResult.problem("/dev/shm", "64 MiB \"free\"")
                .with("free_bytes", 64 << 20)
                .on("h1"))));
        JsonNode json = new JsonMapper().readTree(sick.json());
        assertThat(json.get("ok").asBoolean()).isFalse();
        assertThat(json.at("/checks/0/what").asText()).isEqualTo("h1 /dev/shm");
        assertThat(json.at("/checks/0/state").asText()).isEqualTo("problem");
        assertThat(json.at("/checks/0/text").asText()).isEqualTo("64 MiB \"free\"");
        assertThat(json.at("/checks/0/values/host").asText()).isEqualTo("h1");
        assertThat(json.at("/checks/0/values/free_bytes").asLong()).isEqualTo(64 << 20);
    }

    @Test
    void theFasterBlasIsAdvised() {
        assertThat(MatrixProductsCheck.advice(100, 120)).contains("--blas=mkl");
        assertThat(MatrixProductsCheck.advice(120, 100)).contains("OpenBLAS, the default");
        assertThat(MatrixProductsCheck.advice(100, 103)).isEqualTo("no clear difference");
    }

    @Test
    void aCheckThatCannotLookIsAProblem() throws InterruptedException {
        Doctor doctor = Doctor.examine(List.of(() -> {
            throw new IOException("no such device");
        }));
        assertThat(doctor.lines())
                .singleElement()
                .asString()
                .contains("problem")
                .contains("no such device");
    }

    @Test
    void anInstallationWithoutARuntimeIsAProblem() throws IOException, InterruptedException {
        List<CheckResult> findings = new BackendsCheck(folder).run();
        assertThat(findings.getLast().state()).isEqualTo(CheckState.PROBLEM);
        assertThat(findings.getLast().text()).contains("BackendCheck");
    }

    @ParameterizedTest
    @CsvSource({
        "Haswell, avx2 avx512f avx512bw avx512cd avx512dq avx512vl, ABSENT",
        "Haswell, avx2, OK",
        "SkylakeX, avx2 avx512f avx512bw avx512cd avx512dq avx512vl, OK"
    })
    void aChoiceOfKernelsThatIsSlowerThanTheCpuIsReported(String core, String flags, CheckState state)
            throws IOException {
        Files.createDirectories(folder.resolve("proc"));
        Files.writeString(folder.resolve("proc/cpuinfo"), "processor\t: 0\nflags\t\t: fpu " + flags + "\n");
        assertThat(new OpenBlasCheck(Map.of("OPENBLAS_CORETYPE", core), folder).run())
                .singleElement()
                .satisfies(found -> assertThat(found.state()).isEqualTo(state))
                .satisfies(found -> assertThat(found.text()).contains("OPENBLAS_CORETYPE=" + core));
        assertThat(new OpenBlasCheck(Map.of(), folder).run()).isEmpty();
    }
}
