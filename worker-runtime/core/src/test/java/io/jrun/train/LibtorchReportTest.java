package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
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

    private List<String> report(String build) throws IOException, InterruptedException {
        Map<String, String> environment = Map.of(
                "JRUN_LIBTORCH",
                build,
                "CUDA_VISIBLE_DEVICES",
                "",
                "HOME",
                folder.toString(),
                "XDG_CACHE_HOME",
                folder.toString());
        return JavaProcess.start(folder, LibtorchReport.class, List.of(), environment)
                .join()
                .lines()
                .filter(line -> !line.startsWith("WARNING"))
                .toList();
    }
}
