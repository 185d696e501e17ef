package io.jrun.comm.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class VisibleGpusTest {
    @TempDir
    Path dev;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0 | 3 | cuda:0",
                "0,1,2,3 | 3 | cuda:3",
                "0,1 | 3 | cuda:1",
                "GPU-8c1f,MIG-22 | 1 | cuda:1",
                "'2, -1, 3' | 5 | cuda:0",
                "-1 | 0 | cpu",
                "NoDevFiles | 0 | cpu",
                "none | 0 | cpu",
                "void | 1 | cpu",
                "'' | 0 | cpu",
            })
    void aRankHasAGpuOfThoseThatTheVariableNames(String variable, int localRank, String device) {
        VisibleGpus seen = VisibleGpus.of(Map.of("CUDA_VISIBLE_DEVICES", variable), dev);

        assertThat(seen.deviceOf(localRank)).hasToString(device);
    }

    @Test
    void withoutTheVariableTheDeviceFilesCount() throws IOException {
        assertThat(VisibleGpus.of(Map.of(), dev.resolve("missing")).deviceOf(1)).isEqualTo(Device.CPU);
        for (String name : new String[] {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"}) {
            Files.createFile(dev.resolve(name));
        }

        assertThat(VisibleGpus.of(Map.of(), dev)).isEqualTo(new VisibleGpus(2));
        assertThat(VisibleGpus.of(Map.of("CUDA_VISIBLE_DEVICES", ""), dev)).isEqualTo(new VisibleGpus(0));
    }
}
