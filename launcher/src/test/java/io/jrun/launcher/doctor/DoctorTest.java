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
import org.assertj.core.api.InstanceOfAssertFactories;
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
    void pairsOfGpusAreSummarizedAndSlowPairsNamed() {
        CheckResult found = GpuPairsCheck.result(new CommandResult(
                0,
                List.of(
                        "jrun: a notice",
                        "pair\t0\t1\t250000000000\t12.4",
                        "pair\t0\t2\t20000000000\t31.0",
                        "pair\t1\t2\t21000000000\t30.0")));
        assertThat(found.state()).isEqualTo(CheckState.OK);
        assertThat(found.text())
                .isEqualTo("all-reduce between two GPUs: 20.0 to 250.0 GB/s of 64 MiB, 12 to 31 us of 4 bytes; less"
                        + " than half of the fastest: 0-2 1-2");
        assertThat(found.values())
                .extractingByKey("pairs")
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .contains(Map.of("first", 0, "second", 1, "gbytes_per_s", 250.0, "us", 12.4));
    }

    @Test
    void aMeasurementOfGpusThatCannotRunSaysWhy() throws IOException, InterruptedException {
        assertThat(GpuPairsCheck.result(new CommandResult(0, List.of("skipped\tno libnccl.so.2"))))
                .isEqualTo(CheckResult.absent("nccl", "not measured between GPUs: no libnccl.so.2"));
        CheckResult failed = GpuPairsCheck.result(
                new CommandResult(1, List.of("jrun: first failure: rank 1 exited with code 1", "  | x", "logs")));
        assertThat(failed.state()).isEqualTo(CheckState.PROBLEM);
        assertThat(failed.text()).endsWith("failed with exit code 1: jrun: first failure: rank 1 exited with code 1");
        assertThat(new GpuPairsCheck(folder, folder, List.of("0")).run())
                .containsExactly(CheckResult.absent("nccl", "not measured between GPUs: only one GPU is visible"));
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
