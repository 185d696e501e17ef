package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LibtorchReportTest {
    @TempDir
    private Path folder;

    @Test
    void aSettingThatEndsAWorkerIsAProblemInOneLine() throws Exception {
        assertThat(report("gpu"))
                .containsExactly(
                        "problem\tlibtorch\t\ta worker cannot start: JRUN_LIBTORCH is 'gpu', not one of auto, cpu,"
                                + " cuda.");
        assertThat(report("cuda"))
                .containsExactly(
                        "problem\tlibtorch\t\ta worker cannot start: JRUN_LIBTORCH is cuda, but the CUDA build of"
                                + " libtorch is not installed. Run 'jrun cuda install' (458 MB).");
    }

    @Test
    void aMachineWithoutAGpuHasNoProblem() throws Exception {
        for (String build : List.of("auto", "cpu")) {
            assertThat(report(build))
                    .singleElement()
                    .asString()
                    .startsWith("ok\tlibtorch\t\tworkers use the plain build, for CPUs: ");
        }
    }

    @Test
    void aDamagedJarAndRelativeEntriesOfThePathAreProblems() throws Exception {
        Path jar = Files.write(folder.resolve("gpu.jar"), new byte[] {'P', 'K', 3, 4});
        assertThat(report("auto", Map.of("JRUN_CUDA_PATH", "lib"), "-D" + CudaArchive.PROPERTY + "=" + jar))
                .contains(
                        "problem\tlibtorch\t\t" + jar + " is damaged: it was cut short, or is no jar; run 'jrun cuda"
                                + " install' again",
                        "problem\tJRUN_CUDA_PATH\t\tJRUN_CUDA_PATH has 'lib', which jrun does not search: write"
                                + " absolute paths");
    }

    private List<String> report(String build) throws IOException, InterruptedException {
        return report(build, Map.of());
    }

    private List<String> report(String build, Map<String, String> more, String... options)
            throws IOException, InterruptedException {
        Map<String, String> environment = new HashMap<>(more);
        environment.putAll(Map.of(
                "JRUN_LIBTORCH",
                build,
                "CUDA_VISIBLE_DEVICES",
                "",
                "HOME",
                folder.toString(),
                "XDG_CACHE_HOME",
                folder.toString()));
        return JavaProcess.start(folder, LibtorchReport.class, List.of(options), environment)
                .join()
                .lines()
                .filter(line -> !line.startsWith("WARNING"))
                .toList();
    }
}
