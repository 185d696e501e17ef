package io.jrun.agent.node;

import static org.assertj.core.api.Assertions.assertThat;

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
    void machineWithoutLimitsOrDevices() {
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
    void coresAreThoseThatSlurmGaveAndThatTheMachineHas() {
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
    void listingNamesGpusByIndexAndSlicesByUuid() {
        assertThat(GpuProbe.parseListing(List.of(
                        "GPU 0: NVIDIA A100 (UUID: GPU-aa)",
                        "GPU 1: NVIDIA A100 (UUID: GPU-bb)",
                        "  MIG 1g.10gb     Device  0: (UUID: MIG-cc)",
                        "  MIG 1g.10gb     Device  1: (UUID: MIG-dd)")))
                .containsExactly("0", "MIG-cc", "MIG-dd");
    }

    private NodeResources probe(Map<String, String> environment) {
        return new NodeProbe(root, environment).probe();
    }

    private void write(String path, String content) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, content);
    }
}
