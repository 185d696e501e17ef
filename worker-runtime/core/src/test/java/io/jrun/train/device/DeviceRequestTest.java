package io.jrun.train.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.comm.local.LocalWorld;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeviceRequestTest {
    @ParameterizedTest
    @ValueSource(strings = {"auto", "cpu", "cuda", "cuda:0", "cuda:12"})
    void aRequestIsWrittenAsItIsRead(String text) {
        assertThat(DeviceRequest.parse(text)).hasToString(text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "gpu", "CUDA", "cuda:", "cuda:x", "cuda:-1", "cuda:1234", "cpu:0", "cuda,cpu"})
    void otherTextsAreRefused(String text) {
        assertThatThrownBy(() -> DeviceRequest.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("'" + text + "', expected auto, cpu, cuda or cuda:N");
    }

    @Test
    void ranksWithoutGpusTrainOnTheCpu() {
        LocalWorld.run(2, world -> {
            assertThat(world.device()).isEqualTo(Device.CPU);
            for (String text : List.of("auto", "cpu")) {
                assertThat(DeviceRequest.parse(text).choose(world))
                        .isEqualTo(new DeviceRequest.Choice(Device.CPU, Optional.empty()));
            }
        });
    }

    @Test
    void aGpuThatIsMissingIsOneLineOnAllRanks() {
        LocalWorld.run(
                2,
                world -> assertThatThrownBy(() -> DeviceRequest.parse("cuda").choose(world))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessage(
                                "rank 0 on " + world.host() + " sees no GPU. Check nvidia-smi and CUDA_VISIBLE_DEVICES"
                                        + " there, or train on CPUs with --device=cpu."));
    }
}
