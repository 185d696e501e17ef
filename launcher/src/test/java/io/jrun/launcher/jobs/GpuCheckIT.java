package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jrun.launcher.jobs.JRun.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** scripts/gpu-check on made-up GPUs, with the made-up CUDA and NCCL of scripts/testbed/cuda. */
class GpuCheckIT extends RealJobs {
    @Test
    void everyCheckOfNcclPassesOnTwoGpusAndWithTwoRanksOnOne() throws Exception {
        CudaTestbed.require();
        Result result = check(Map.of(), "--simulated=2", "--json");

        Map<String, List<String>> found = byStatus(result);
        assertThat(found.getOrDefault("FAIL", List.of())).isEmpty();
        assertThat(result.exitCode()).isZero();
        assertThat(result.out()).as("no advice for real GPUs").doesNotContain("JRUN_LIBTORCH");
        assertThat(found.get("PASS"))
                .contains(
                        "nccl-one-rank",
                        "pinned-copies",
                        "device-buffers",
                        "plane-one-rank",
                        "file-reads",
                        "nccl-all-ranks",
                        "device-buffers-all",
                        "close-right-after",
                        "plane-all-ranks",
                        "missing-rank",
                        "shared-nccl-all-ranks",
                        "shared-device-buffers-all",
                        "shared-close-right-after",
                        "shared-plane-all-ranks",
                        "shared-missing-rank",
                        "lost-rank");
        assertThat(found.get("SKIPPED")).contains("device-binding", "cuda-build", "ddp-cuda", "times");
    }

    @Test
    void aFunctionOfCudaThatFailsFailsTheCheckAndTheScript() throws Exception {
        CudaTestbed.require();
        Result result = check(Map.of("SIMCUDA_FAIL", "cudaHostAlloc=2"), "--simulated=1", "--json");

        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(byStatus(result).get("FAIL")).contains("shared-plane-all-ranks");
    }

    /** Each host has one GPU: the ranks are on one device number, and NCCL takes the hosts for different machines. */
    @Test
    void everyCheckOfNcclPassesOnTwoNodesOfOneGpu() throws Exception {
        Path libraries = CudaTestbed.libraries();
        Path meetings = Files.createDirectory(folder.resolve("nccl"));
        try (TestHosts hosts = TestHosts.up(2);
                HostAgents agents = new HostAgents(hosts, folder)) {
            agents.start(List.of("h1", "h2"));
            Result result = jrun.startUnder(
                            hosts.on("head"),
                            "--secret-file=" + agents.secret(),
                            "--hosts=h1:1,h2:1",
                            "--no-prefix",
                            "--timeout=90",
                            "--env=JRUN_CUDA_PATH=" + libraries,
                            "--env=JRUN_LIBTORCH=cpu",
                            "--env=SIMCUDA_DEVICES=1",
                            "--env=SIMNCCL_FOLDER=" + meetings,
                            "--main-class=io.jrun.bench.gpu.GpuCheck",
                            Path.of(System.getProperty("jrun.home"), "lib/bench/bench.jar")
                                    .toString(),
                            "--json",
                            "--simulated")
                    .await();
            assertThat(result.exitCode()).as(result.err()).isZero();
            assertThat(byStatus(result).get("PASS"))
                    .contains(
                            "nccl-all-ranks",
                            "device-buffers-all",
                            "close-right-after",
                            "plane-all-ranks",
                            "missing-rank");
        }
    }

    private Result check(Map<String, String> variables, String... arguments) {
        JRun script =
                new JRun(folder, JRun.SCRIPTS.resolve("gpu-check")).with("JRUN_JVM_OPTS", "-XX:TieredStopAtLevel=1");
        variables.forEach(script::with);
        return script.run(arguments);
    }

    private static Map<String, List<String>> byStatus(Result result) throws IOException {
        JsonMapper json = new JsonMapper();
        Map<String, List<String>> found = new HashMap<>();
        for (String line : result.out().lines().toList()) {
            JsonNode check = json.readTree(line);
            assertThat(check.get("detail").asText()).as(line).isNotEmpty();
            found.computeIfAbsent(check.get("status").asText(), _ -> new ArrayList<>())
                    .add(check.get("check").asText());
        }
        return found;
    }
}
