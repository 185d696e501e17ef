package io.jrun.agent.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CpuMapTest {
    @TempDir
    Path root;

    @Test
    void usableCpusAreGroupedByCoreAndDomain() throws IOException {
        write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-2,4-7\n");
        write("sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
        write("sys/devices/system/node/node2/cpulist", "2-3,6-7\n");
        for (int cpu = 0; cpu < 8; cpu++) {
            write(
                    "sys/devices/system/cpu/cpu" + cpu + "/topology/thread_siblings_list",
                    cpu % 4 + "," + (cpu % 4 + 4) + "\n");
        }
        assertThat(CpuMap.probe(root).domains())
                .containsExactly(List.of(List.of(0, 4), List.of(1, 5)), List.of(List.of(2, 6), List.of(7)));
    }

    @Test
    void aKernelWithoutTopologyHasOneDomainOfSingleThreads() throws IOException {
        write("proc/self/status", "Cpus_allowed_list:\t3,5\n");
        assertThat(CpuMap.probe(root).domains()).containsExactly(List.of(List.of(3), List.of(5)));
    }

    private void write(String path, String content) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, content);
    }
}
