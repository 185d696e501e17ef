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

    /** On the CPU bfloat16 attention has the bits of float32 attention, rounded. */
    @Test
    void attentionIsComputedInFloat32() {
        try (PointerScope _ = new PointerScope()) {
            Tensor narrow = torch.randn(2, 2, 8, 4).to(torch.ScalarType.BFloat16);
            Tensor wide = narrow.to(torch.ScalarType.Float);
            Tensor wanted = ScaledAttention.apply(wide, wide, wide, 0, true);
            assertThat(wanted.scalar_type().intern()).isEqualTo(torch.ScalarType.Float);
            try (Autocast _ = Autocast.cpuBfloat16()) {
                Tensor found = ScaledAttention.apply(narrow, narrow, narrow, 0, true);
                assertThat(found.scalar_type().intern()).isEqualTo(torch.ScalarType.BFloat16);
                assertThat(found.equal(wanted.to(torch.ScalarType.BFloat16))).isTrue();
                assertThat(productType()).isEqualTo(torch.ScalarType.BFloat16);
            }
        }
    }
}
