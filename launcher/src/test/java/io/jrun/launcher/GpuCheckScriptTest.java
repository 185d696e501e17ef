package io.jrun.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** scripts/gpu-check on a machine without a GPU. */
class GpuCheckScriptTest {
    /** Tests run in the folder of their module. */
    private static final Path SCRIPT = Path.of("..", "scripts", "gpu-check").toAbsolutePath();

    private static final int NOTHING_CHECKED = 77;
    private static final int USAGE = 2;

    private record Ended(int exitCode, String output) {}

    private static Ended run(String... arguments) throws IOException, InterruptedException {
        return run(Map.of(), arguments);
    }

    private static Ended run(Map<String, String> variables, String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(SCRIPT.toString());
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().remove("CUDA_VISIBLE_DEVICES");
        builder.environment().putAll(variables);
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Ended(process.waitFor(), output);
    }

    @Test
    void withoutAGpuItSaysSoInOneLineAndExitsWithItsOwnCode() throws IOException, InterruptedException {
        assumeFalse(Files.exists(Path.of("/dev/nvidia0")), "this machine has a GPU");
        String why = "this machine has no NVIDIA GPU: there is no /dev/nvidia0. Nothing was checked.";
        assertThat(run()).isEqualTo(new Ended(NOTHING_CHECKED, "SKIPPED gpu                       " + why + "\n"));
        assertThat(run("--json"))
                .isEqualTo(new Ended(
                        NOTHING_CHECKED, "{\"check\":\"gpu\",\"status\":\"SKIPPED\",\"detail\":\"" + why + "\"}\n"));
    }

    @Test
    void hiddenGpusAreNotUsed() throws IOException, InterruptedException {
        for (String hidden : List.of("", "-1", "NoDevFiles", "none")) {
            assertThat(run(Map.of("CUDA_VISIBLE_DEVICES", hidden)))
                    .isEqualTo(new Ended(
                            NOTHING_CHECKED,
                            "SKIPPED gpu                       CUDA_VISIBLE_DEVICES names no GPU. Nothing was"
                                    + " checked.\n"));
        }
    }

    @Test
    void anUnknownArgumentIsOneLineToo() throws IOException, InterruptedException {
        assertThat(run("--all"))
                .isEqualTo(new Ended(
                        USAGE,
                        "gpu-check: unknown argument '--all'. Usage: scripts/gpu-check [--json] [--no-times |"
                                + " --no-checks] [--simulated=N]\n"));
    }
}
