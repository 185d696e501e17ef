package io.jrun.train.precision;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.Libtorch;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class Float8Test {
    @BeforeAll
    static void load() {
        Libtorch.load();
    }

    /** The value of a code, by the definition of the format. */
    private static float value(Float8 format, int code) {
        int fractionBits = format == Float8.E4M3 ? 3 : 2;
        int bias = format == Float8.E4M3 ? 7 : 15;
        int exponent = (code & 0x7f) >> fractionBits;
        int fraction = code & ((1 << fractionBits) - 1);
        double magnitude = exponent == 0
                ? Math.scalb((double) fraction, 1 - bias - fractionBits)
                : Math.scalb((double) ((1 << fractionBits) + fraction), exponent - bias - fractionBits);
        return (float) (code < 0x80 ? magnitude : -magnitude);
    }

    private static boolean isFinite(Float8 format, int code) {
        return format == Float8.E4M3 ? (code & 0x7f) != 0x7f : (code & 0x7f) < 0x7c;
    }

    private static int encode(Float8 format, float value) {
        try (PointerScope _ = new PointerScope()) {
            Tensor codes = format.encode(Tensor.create(new float[] {value})).view(torch.ScalarType.Byte);
            return codes.item_int();
        }
    }

    @ParameterizedTest
    @EnumSource
    void everyFiniteCodeIsItsOwnRounding(Float8 format) {
        for (int code = 0; code < 256; code++) {
            if (isFinite(format, code)) {
                assertThat(encode(format, value(format, code)))
                        .as("code %d", code)
                        .isEqualTo(code);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void everyCodeHasTheValueOfTheFormat(Float8 format) {
        byte[] codes = new byte[256];
        for (int code = 0; code < codes.length; code++) {
            codes[code] = (byte) code;
        }
        try (PointerScope _ = new PointerScope()) {
            Tensor decoded = Tensor.create(codes)
                    .view(format.encode(torch.zeros(1)).scalar_type())
                    .to(torch.ScalarType.Float);
            float[] values = TensorMemory.segment(decoded).toArray(ValueLayout.JAVA_FLOAT);
            for (int code = 0; code < codes.length; code++) {
                boolean isInfinite = format == Float8.E5M2 && (code & 0x7f) == 0x7c;
                float wanted = isInfinite ? Math.copySign(Float.POSITIVE_INFINITY, (byte) code) : value(format, code);
                // floatToIntBits: NaN equals NaN, and -0 does not equal 0.
                float expected = isInfinite || isFinite(format, code) ? wanted : Float.NaN;
                assertThat(Float.floatToIntBits(values[code]))
                        .as("code %d", code)
                        .isEqualTo(Float.floatToIntBits(expected));
            }
        }
    }

    /** Half-way values go to the even code; one bit more goes up, one bit less goes down. */
    @ParameterizedTest
    @EnumSource
    void roundsToTheNearestAndTiesToEven(Float8 format) {
        for (int code = 0; isFinite(format, code + 1); code++) {
            float middle = (value(format, code) + value(format, code + 1)) / 2;
            assertThat(encode(format, middle)).as("middle above %d", code).isEqualTo(code + (code & 1));
            assertThat(encode(format, Math.nextUp(middle))).isEqualTo(code + 1);
            assertThat(encode(format, Math.nextDown(middle))).isEqualTo(code);
        }
    }

    @ParameterizedTest
    @EnumSource
    void numbersThatAreTooLargeBecomeTheLargest(Float8 format) {
        for (float large : new float[] {format.largest() * 1.5f, Float.MAX_VALUE, Float.POSITIVE_INFINITY}) {
            assertThat(value(format, encode(format, large))).isEqualTo(format.largest());
            assertThat(value(format, encode(format, -large))).isEqualTo(-format.largest());
        }
    }
}
