package io.jrun.agent.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.nvml.NvmlGpu;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NodeProbeTest {
    @TempDir
    Path root;

    @BeforeEach
    void machine() throws IOException {
        write("proc/sys/kernel/hostname", "node7\n");
        write("proc/meminfo", "MemTotal:       16 kB\nMemFree: 1 kB\n");
        Files.createDirectories(root.resolve("dev"));
    }

    @Test
    void machineWithoutLimitsOrDevices() throws IOException {
        assertThat(probe(Map.of()))
                .isEqualTo(new NodeResources(
                        "node7", "127.0.0.1", Runtime.getRuntime().availableProcessors(), 16 * 1024, List.of()));
    }

    @Test
    void lowestLimitUpTheCgroupTreeBinds() throws IOException {
        write("proc/self/cgroup", "0::/job/step\n");
        write("sys/fs/cgroup/job/step/memory.max", "max\n");
        write("sys/fs/cgroup/job/memory.max", "8192\n");
        assertThat(probe(Map.of()).memoryBytes()).isEqualTo(8192);
    }

    @Test
    void firstCgroupVersionIsReadToo() throws IOException {
        write("proc/self/cgroup", "4:memory:/job\n2:cpu,cpuacct:/\n");
        write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4096\n");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assertThat(probe(Map.of()).memoryBytes()).isEqualTo(4096);
    }

    @Test
    void oomKillsAreCounted() throws IOException {
        write("proc/self/cgroup", "0::/job\n");
        assertThat(OomKills.count(root)).isEmpty();
        write("sys/fs/cgroup/job/memory.events", "low 0\noom 3\noom_kill 2\n");
        assertThat(OomKills.count(root)).hasValue(2);
    }

    @Test
    void chosenDevicesAreTheVisibleOnes() throws IOException {
        write("dev/nvidia0", "");
        write("dev/nvidia1", "");
        assertThat(probe(Map.of("CUDA_VISIBLE_DEVICES", "1,0,-1,3")).gpus()).containsExactly("1", "0");
        assertThat(probe(Map.of("CUDA_VISIBLE_DEVICES", "")).gpus()).isEmpty();
        assertThat(probe(Map.of("NVIDIA_VISIBLE_DEVICES", "void")).gpus()).isEmpty();
    }

    @Test
    void listsThatCudaWouldCutAreRefused() throws IOException {
        write("dev/nvidia0", "");
        write("dev/nvidia1", "");
        gpu("0000:1b:00.0", "GPU-8f3a11ce-1", 0);
        gpu("0000:1c:00.0", "GPU-8f3b22ce-2", 1);
        assertThat(refusal("1,2")).contains("CUDA_VISIBLE_DEVICES=1,2: this node has no GPU 2, it has 0 to 1");
        assertThat(refusal("GPU-8f3")).contains("'GPU-8f3' fits 2 of the 2 GPUs here");
        assertThat(refusal("GPU-77")).contains("'GPU-77' fits 0 of the 2 GPUs here");
        assertThat(probe(Map.of("CUDA_VISIBLE_DEVICES", "gpu-8F3B".replace("gpu", "GPU")))
                        .gpus())
                .containsExactly("GPU-8F3B");
    }

    private String refusal(String devices) {
        try {
            return "not refused: "
                    + probe(Map.of("CUDA_VISIBLE_DEVICES", devices)).gpus();
        } catch (GpuListException e) {
            return String.valueOf(e.getMessage());
        }
    }

    private void gpu(String busId, String uuid, int minor) throws IOException {
        write(
                "proc/driver/nvidia/gpus/" + busId + "/information",
                "Model: \t\t NVIDIA H100\nGPU UUID: \t " + uuid + "\nBus Location: \t " + busId + "\nDevice Minor: \t "
                        + minor + "\n");
    }

    /** Without a cgroup of the job, its processes may open all GPUs of the machine. */
    @Test
    void gpusThatSlurmOrAContainerNamesAreUsedIfTheProcessMayOpenMore() throws IOException {
        for (int i = 0; i < 4; i++) {
            write("dev/nvidia" + i, "");
        }
        Map<String, String> step = Map.of("SLURM_JOB_ID", "1", "SLURM_GPUS_ON_NODE", "2", "SLURM_STEP_GPUS", "1,3");
        assertThat(probe(step).gpus()).containsExactly("1", "3");
        assertThat(probe(Map.of("SLURM_JOB_ID", "1", "SLURM_JOB_GPUS", "2-3")).gpus())
                .containsExactly("2", "3");
        assertThat(probe(Map.of("NVIDIA_VISIBLE_DEVICES", "GPU-12,GPU-34")).gpus())
                .containsExactly("GPU-12", "GPU-34");
        assertThat(probe(Map.of("NVIDIA_VISIBLE_DEVICES", "all")).gpus()).containsExactly("0", "1", "2", "3");
        Files.delete(root.resolve("dev/nvidia0"));
        Files.delete(root.resolve("dev/nvidia2"));
        assertThat(probe(step).gpus()).containsExactly("0", "1");
        assertThat(probe(Map.of("NVIDIA_VISIBLE_DEVICES", "1,3")).gpus()).containsExactly("0", "1");
    }

    @Test
    void slurmCountsItsJobsGpus() throws IOException {
        write("dev/nvidia0", "");
        assertThat(probe(Map.of("SLURM_JOB_ID", "1", "SLURM_GPUS_ON_NODE", "2")).gpus())
                .containsExactly("0", "1");
        assertThat(probe(Map.of("SLURM_JOB_ID", "1", "SLURM_GPUS_ON_NODE", "2", "CUDA_VISIBLE_DEVICES", "4,5"))
                        .gpus())
                .containsExactly("4", "5");
        assertThat(probe(Map.of("SLURM_GPUS_ON_NODE", "2")).gpus()).containsExactly("0");
    }

    @Test
    void coresAreThoseThatSlurmGaveAndThatTheMachineHas() throws IOException {
        int all = Runtime.getRuntime().availableProcessors();
        assertThat(probe(Map.of()).cores()).isEqualTo(all);
        assertThat(probe(Map.of("SLURM_JOB_ID", "1", "SLURM_CPUS_ON_NODE", "1")).cores())
                .isEqualTo(1);
        assertThat(probe(Map.of("SLURM_JOB_ID", "1", "SLURM_CPUS_ON_NODE", "4096"))
                        .cores())
                .isEqualTo(all);
        assertThat(probe(Map.of("SLURM_CPUS_ON_NODE", "1")).cores()).isEqualTo(all);
    }

    @Test
    void gpusAreNamedByIndexAndSlicesByUuid() {
        NvmlGpu whole = new NvmlGpu(0, "A100", "GPU-aa", "0000:1b:00.0", 1, "on", "off", List.of());
        NvmlGpu sliced = new NvmlGpu(1, "A100", "GPU-bb", "0000:1c:00.0", 1, "on", "on", List.of("MIG-cc", "MIG-dd"));
        assertThat(GpuProbe.entries(List.of(whole, sliced))).containsExactly("0", "MIG-cc", "MIG-dd");
    }

    private NodeResources probe(Map<String, String> environment) throws GpuListException {
        return new NodeProbe(root, environment).probe();
    }

    private void write(String path, String content) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, content);
    }
}
