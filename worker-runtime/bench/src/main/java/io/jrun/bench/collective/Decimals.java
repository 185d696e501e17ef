package io.jrun.bench.collective;

import java.math.BigDecimal;
import java.math.RoundingMode;
import org.jspecify.annotations.Nullable;

/** Measurements as decimal numbers of JSON. Stateless. */
public final class Decimals {
    private Decimals() {}

    /** The number with {@code digits} digits after the point; null if the number is not finite. */
    public static @Nullable BigDecimal rounded(double number, int digits) {
        return Double.isFinite(number) ? BigDecimal.valueOf(number).setScale(digits, RoundingMode.HALF_UP) : null;
    }

    /** A time of {@code nanos} nanoseconds in milliseconds, with three digits after the point. */
    public static @Nullable BigDecimal millis(double nanos) {
        return rounded(nanos / 1e6, 3);
    }
}
