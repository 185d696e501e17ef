package io.jrun.train.device;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.device.GpuPeaks.Operands;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GpuPeaksTest {
    @ParameterizedTest
    @CsvSource({
        "NVIDIA H100 80GB HBM3, H100, 989.4e12",
        "NVIDIA H100 PCIe, H100 PCIe, 756e12",
        "NVIDIA H100 NVL, H100 NVL, 835.5e12",
        "NVIDIA H200, H200, 989.4e12",
        "NVIDIA GH200 480GB, GH200, 989.4e12",
        "NVIDIA B200, B200, 2250e12",
        "NVIDIA GB200, GB200, 2500e12",
        "NVIDIA A100-SXM4-80GB, A100, 312e12",
        "NVIDIA A100-PCIE-40GB, A100, 312e12",
        "NVIDIA A10, A10, 125e12",
        "NVIDIA A10G, A10G, 70e12",
        "NVIDIA L4, L4, 121e12",
        "NVIDIA L40S, L40S, 362.05e12",
        "NVIDIA GeForce RTX 4090, RTX 4090, 165.2e12",
        "Tesla V100-SXM2-16GB, V100, 125e12",
        "Tesla V100-PCIE-32GB, V100-PCIE, 112e12",
    })
    void aCardIsKnownByTheNameOfItsDriver(String name, String card, double half) {
        GpuPeaks peaks = GpuPeaks.of(name).orElseThrow();

        assertThat(peaks.card()).isEqualTo(card);
        assertThat(peaks.perSecond(Operands.F16)).isEqualTo(OptionalDouble.of(half));
    }

    @Test
    void unknownCardsAndProductsHaveNoPeak() {
        assertThat(GpuPeaks.of("NVIDIA X9000")).isEmpty();
        assertThat(GpuPeaks.of("NVIDIA A100-SXM4-40GB MIG 1g.5gb")).isEmpty();
        assertThat(GpuPeaks.of("Tesla T4").orElseThrow().perSecond(Operands.BF16))
                .isEmpty();
        assertThat(GpuPeaks.of("Tesla T4").orElseThrow().perSecond(Operands.TF32))
                .isEmpty();
    }
}
