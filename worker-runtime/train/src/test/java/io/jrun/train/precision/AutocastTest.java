package io.jrun.train.precision;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.Libtorch;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class AutocastTest {
    @BeforeAll
    static void load() {
        Libtorch.load();
    }

    private static torch.ScalarType productType() {
        return torch.ones(2, 2).mm(torch.ones(2, 2)).scalar_type().intern();
    }

    @Test
    void scopesNestAndEnd() {
        try (PointerScope _ = new PointerScope()) {
            Tensor onCpu = torch.ones(1);
            assertThat(productType()).isEqualTo(torch.ScalarType.Float);
            try (Autocast _ = Autocast.cpuBfloat16()) {
                assertThat(Autocast.isOnFor(onCpu)).isTrue();
                assertThat(productType()).isEqualTo(torch.ScalarType.BFloat16);
                try (Autocast _ = Autocast.off(torch.DeviceType.CPU)) {
                    assertThat(productType()).isEqualTo(torch.ScalarType.Float);
                }
                assertThat(productType()).isEqualTo(torch.ScalarType.BFloat16);
            }
            assertThat(productType()).isEqualTo(torch.ScalarType.Float);
            assertThat(Autocast.isOnFor(onCpu)).isFalse();
        }
    }
}
