package io.jrun.train.device;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.regex.Pattern;

/**
 * The floating point operations a second that the vendor gives for a GPU, for dense matrices (without structured
 * sparsity) and products that are summed in float32.
 *
 * @param card the card in words
 * @param half float16, and bfloat16 on cards that have it
 * @param hasBfloat16 whether the card multiplies bfloat16
 * @param tf32 float32 operands that are rounded to TF32; 0 on cards without it
 * @param single float32
 */
public record GpuPeaks(String card, double half, boolean hasBfloat16, double tf32, double single) {
    private static final double TERA = 1e12;

    /** The type of the operands of matrix products. */
    public enum Operands {
        BF16,
        F16,
        TF32,
        F32
    }

    private record Row(Pattern name, GpuPeaks peaks) {}

    /**
     * The first row whose pattern is in the name decides. Numbers in teraflops. Sources: NVIDIA's data sheets of V100,
     * T4, A100, A30, A40, A10, L4, L40, L40S, H100, H200, HGX B200 and GB200 NVL72; for GeForce the white papers of
     * GA102, AD102 and GB202, rows of FP16 and BF16 with FP32 accumulate. Data sheets since H100 give twice these
     * numbers, with sparsity.
     */
    private static final List<Row> ROWS = List.of(
            row("GB200", 2500, 1250, 80),
            row("B200", 2250, 1125, 75),
            row("GH200", 989.4, 494.7, 66.9),
            row("H200 NVL", 835.5, 417.5, 60),
            row("H200", 989.4, 494.7, 66.9),
            row("H100 NVL", 835.5, 417.5, 60),
            row("H100 PCIe", 756, 378, 51.2),
            row("H100", 989.4, 494.7, 66.9),
            row("A100", 312, 156, 19.5),
            row("A30", 165, 82, 10.3),
            row("A40", 149.7, 74.8, 37.4),
            row("A10G", 70, 35, 31.5),
            row("A10", 125, 62.5, 31.2),
            row("L40S", 362.05, 183, 91.6),
            row("L40", 181.05, 90.5, 90.5),
            row("L4", 121, 60, 30.3),
            row("RTX 5090", 209.5, 104.8, 104.8),
            row("RTX 4090", 165.2, 82.6, 82.6),
            row("RTX 3090", 71, 35.6, 35.6),
            withoutBfloat16("V100-PCIE", 112, 14),
            withoutBfloat16("V100", 125, 15.7),
            withoutBfloat16("T4", 65, 8.1));

    private static Row row(String card, double half, double tf32, double single) {
        return new Row(pattern(card), new GpuPeaks(card, half * TERA, true, tf32 * TERA, single * TERA));
    }

    private static Row withoutBfloat16(String card, double half, double single) {
        return new Row(pattern(card), new GpuPeaks(card, half * TERA, false, 0, single * TERA));
    }

    private static Pattern pattern(String card) {
        return Pattern.compile("\\b" + Pattern.quote(card) + "\\b", Pattern.CASE_INSENSITIVE);
    }

    /**
     * The peaks of a card by the name that its driver gives; empty for an unknown card, and for a slice of a card
     * (MIG).
     */
    public static Optional<GpuPeaks> of(String name) {
        if (name.toUpperCase(Locale.ROOT).contains(" MIG ")) {
            return Optional.empty();
        }
        return ROWS.stream()
                .filter(row -> row.name().matcher(name).find())
                .map(Row::peaks)
                .findFirst();
    }

    /** Operations a second; empty if the card has no such products. */
    public OptionalDouble perSecond(Operands operands) {
        double peak = switch (operands) {
            case BF16 -> hasBfloat16 ? half : 0;
            case F16 -> half;
            case TF32 -> tf32;
            case F32 -> single;
        };
        return peak > 0 ? OptionalDouble.of(peak) : OptionalDouble.empty();
    }
}
