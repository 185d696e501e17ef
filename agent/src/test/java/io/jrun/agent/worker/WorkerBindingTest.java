package io.jrun.agent.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.proto.BindPolicy;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.WorkerSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code --bind-to=gpu} on a made-up machine of two NUMA nodes with two GPUs each; the agent may use CPUs 0 to 6. */
class WorkerBindingTest {
    private static final BindPolicy GPU = BindPolicy.BIND_POLICY_GPU;
    private static final List<String> FOUR = List.of("0", "1", "2", "3");

    @TempDir
    private Path root;

    @BeforeEach
    void machine() throws IOException {
        write("proc/self/status", "Cpus_allowed_list:\t0-6\n");
        write("sys/devices/system/node/node0/cpulist", "0-3");
        write("sys/devices/system/node/node1/cpulist", "4-7");
        for (int i = 0; i < 4; i++) {
            gpu(i, "NVIDIA H100");
        }
    }

    private void gpu(int i, String model) throws IOException {
        String busId = "0000:" + (i + 1) + "b:00.0";
        write("dev/nvidia" + i, "");
        write(
                "proc/driver/nvidia/gpus/" + busId + "/information",
                "Model: \t " + model + "\nGPU UUID: \t GPU-a" + i + "\nBus Location: \t " + busId
                        + "\nDevice Minor: \t " + i + "\n");
        write("sys/bus/pci/devices/" + busId + "/numa_node", i / 2 + "\n");
        write("sys/bus/pci/devices/" + busId + "/local_cpulist", i < 2 ? "0-3\n" : "4-7\n");
    }

    private void write(String path, String content) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, content);
    }

    /** A machine without NVML, which knows no slice. */
    static Optional<String> withoutNvml(String slice) {
        return Optional.empty();
    }

    private WorkerBinding binding(List<String> gpus) {
        return WorkerBinding.probe(root, gpus, Map.of(), WorkerBindingTest::withoutNvml);
    }

    @Test
    void aWorkerRunsOnTheCpusNearItsGpu() {
        assertThat(binding(FOUR).words(GPU, "1", 1, 4)).containsExactly("taskset", "-c", "0,1,2,3");
        assertThat(binding(FOUR).words(GPU, "2", 2, 4)).containsExactly("taskset", "-c", "4,5,6");
        assertThat(binding(FOUR).words(GPU, "GPU-A3", 0, 1)).containsExactly("taskset", "-c", "4,5,6");
        assertThat(binding(FOUR).words(GPU, "MIG-GPU-a3/1/0", 0, 1)).containsExactly("taskset", "-c", "4,5,6");
    }

    @Test
    void aWorkerThatSeesAllGpusUsesThatOfItsLocalRank() {
        assertThat(binding(FOUR).words(GPU, "", 3, 4)).containsExactly("taskset", "-c", "4,5,6");
        assertThat(binding(List.of("3", "0")).words(GPU, "", 1, 2)).containsExactly("taskset", "-c", "0,1,2,3");
    }

    @Test
    void indicesCountTheGpusThatTheProcessMayOpen() throws IOException {
        Files.delete(root.resolve("dev/nvidia0"));
        Files.delete(root.resolve("dev/nvidia1"));
        assertThat(binding(List.of("0", "1")).words(GPU, "0", 0, 2)).containsExactly("taskset", "-c", "4,5,6");
    }

    @Test
    void aSliceLiesWhereNvmlSaysThatItsGpuIs() {
        WorkerBinding binding = WorkerBinding.probe(
                root,
                List.of("MIG-77"),
                Map.of(),
                slice -> Optional.of("0000:3b:00.0").filter(_ -> slice.equals("MIG-77")));
        assertThat(binding.words(GPU, "MIG-77", 0, 1)).containsExactly("taskset", "-c", "4,5,6");
        assertThat(problems(List.of("MIG-77"), "MIG-77"))
                .containsExactly("--bind-to=gpu: the workers of GPU MIG-77 on n1 are not bound: neither"
                        + " /proc/driver/nvidia/gpus nor NVML names its PCI device");
    }

    @Test
    void anUnknownPlaceBindsNothingAndIsSaidInOneLine() throws IOException {
        write("sys/bus/pci/devices/0000:1b:00.0/numa_node", "-1\n");
        write("proc/self/status", "Cpus_allowed_list:\t0-3\n");
        assertThat(binding(FOUR).words(GPU, "0", 0, 4)).isEmpty();
        assertThat(binding(FOUR).words(GPU, "2", 2, 4)).isEmpty();
        assertThat(problems(FOUR, "0", "0", "1", "2"))
                .containsExactly(
                        "--bind-to=gpu: the workers of GPU 0 on n1 are not bound: /sys/bus/pci/devices/0000:1b:00.0"
                                + " names no NUMA node",
                        "--bind-to=gpu: the workers of GPU 2 on n1 are not bound: the agent may use none of the CPUs"
                                + " near it (NUMA node 1)");
    }

    /** CUDA counts the fastest GPU first. */
    @Test
    void theOrderOfDifferentModelsIsUnknownUnlessItIsChosen() throws IOException {
        gpu(3, "NVIDIA L4");
        assertThat(binding(FOUR).words(GPU, "0", 0, 4)).isEmpty();
        assertThat(problems(FOUR, "0").getFirst()).endsWith("known only with CUDA_DEVICE_ORDER=PCI_BUS_ID");
        Map<String, String> ordered = Map.of("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
        assertThat(WorkerBinding.probe(root, FOUR, ordered, WorkerBindingTest::withoutNvml)
                        .words(GPU, "0", 0, 4))
                .containsExactly("taskset", "-c", "0,1,2,3");
    }

    @Test
    void aNodeWithoutGpusBindsToNumaDomains() {
        assertThat(binding(List.of()).words(GPU, "", 1, 2)).containsExactly("taskset", "-c", "4,5,6");
        assertThat(problems(List.of(), "")).hasSize(1).first().asString().contains("n1 has no GPU", "--bind-to=numa");
        LaunchRound unbound = LaunchRound.getDefaultInstance();
        assertThat(binding(List.of()).problems(unbound, "n1")).isEmpty();
    }

    /** @param workers values of CUDA_VISIBLE_DEVICES by local rank */
    private List<String> problems(List<String> gpus, String... workers) {
        LaunchRound.Builder launch = LaunchRound.newBuilder().setBindTo(GPU);
        for (String gpu : workers) {
            launch.addWorkers(WorkerSpec.newBuilder().setGpu(gpu).setLocalRank(launch.getWorkersCount()));
        }
        return binding(gpus).problems(launch.build(), "n1");
    }
}
