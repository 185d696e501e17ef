package io.jrun.train.precision;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.Libtorch;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** All 65,536 codes of the 16-bit types, from libtorch and back, against the definition of the types. */
class HalfCodesTest {
    private static final int CODES = 1 << 16;

    enum Format {
        FLOAT16(torch.ScalarType.Half) {
            @Override
            float value(short code) {
                return Float.float16ToFloat(code);
            }
        },
        BFLOAT16(torch.ScalarType.BFloat16) {
            @Override
            float value(short code) {
                return Float.intBitsToFloat(code << 16);
            }
        };

        private final torch.ScalarType type;

        Format(torch.ScalarType type) {
            this.type = type;
        }

        abstract float value(short code);
    }

    @ParameterizedTest
    @EnumSource
    void everyCodeHasItsValueAndComesBack(Format format) {
        Libtorch.load();
        short[] codes = new short[CODES];
        for (int code = 0; code < CODES; code++) {
            codes[code] = (short) code;
        }
        try (PointerScope _ = new PointerScope()) {
            Tensor wide = Tensor.create(codes).view(format.type).to(torch.ScalarType.Float);
            float[] values = TensorMemory.segment(wide).toArray(ValueLayout.JAVA_FLOAT);
            Tensor back = wide.to(format.type).view(torch.ScalarType.Short);
            short[] codesBack = TensorMemory.segment(back).toArray(ValueLayout.JAVA_SHORT);
            for (int code = 0; code < CODES; code++) {
                float wanted = format.value((short) code);
                assertThat(Float.floatToIntBits(values[code]))
                        .as("value of code %d", code)
                        .isEqualTo(Float.floatToIntBits(wanted));
                if (Float.isNaN(wanted)) {
                    assertThat(format.value(codesBack[code]))
                            .as("code %d", code)
                            .isNaN();
                } else {
                    assertThat(codesBack[code]).as("code %d", code).isEqualTo((short) code);
                }
            }
        }
    }

    /** The values half-way between two neighbours go to the even code. */
    @ParameterizedTest
    @EnumSource
    void tiesGoToTheEvenCode(Format format) {
        Libtorch.load();
        int finite = format == Format.FLOAT16 ? 0x7bff : 0x7f7f;
        float[] middles = new float[finite];
        for (int code = 0; code < finite; code++) {
            middles[code] = (float) (((double) format.value((short) code) + format.value((short) (code + 1))) / 2);
        }
        try (PointerScope _ = new PointerScope()) {
            Tensor rounded = Tensor.create(middles).to(format.type).view(torch.ScalarType.Short);
            short[] codes = TensorMemory.segment(rounded).toArray(ValueLayout.JAVA_SHORT);
            for (int code = 0; code < finite; code++) {
                assertThat(codes[code]).as("middle above %d", code).isEqualTo((short) (code + (code & 1)));
            }
        }
    }
}
