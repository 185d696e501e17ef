package io.jrun.trainer;

import io.jrun.comm.Device;
import io.jrun.train.device.GpuName;
import io.jrun.train.device.GpuPeaks;
import io.jrun.train.device.GpuPeaks.Operands;
import io.jrun.trainer.TrainingRecipe.ParameterType;
import io.jrun.trainer.TrainingRecipe.Precision;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The peak of one rank's device for the matrix products of a recipe.
 *
 * @param flops floating point operations a second; 0 if the number is not known, then the program reports no MFU
 * @param note why a GPU has no peak, in one line
 */
record PeakOfDevice(double flops, Optional<String> note) {
    /** The number of {@code --peak-flops}, or the peak of a known GPU. */
    static PeakOfDevice of(TrainingArguments options) {
        double given = options.recipe().peakFlops();
        Device device = options.device().device();
        if (given > 0 || device.isCpu()) {
            return new PeakOfDevice(given, Optional.empty());
        }
        return ofGpu(GpuName.of(device).orElse("a GPU without a name"), operands(options));
    }

    static PeakOfDevice ofGpu(String name, Optional<Operands> operands) {
        Optional<GpuPeaks> peaks = GpuPeaks.of(name);
        OptionalDouble peak = peaks.isPresent() && operands.isPresent()
                ? peaks.get().perSecond(operands.get())
                : OptionalDouble.empty();
        return peak.isPresent()
                ? new PeakOfDevice(peak.getAsDouble(), Optional.empty())
                : new PeakOfDevice(
                        0,
                        Optional.of("note: no MFU, because the peak of " + name
                                + " for these matrix products is not known. Give --peak-flops."));
    }

    /** The operands of most products; empty for float64, and for 8 bits beside products of float32. */
    static Optional<Operands> operands(TrainingArguments options) {
        Precision precision = options.recipe().precision();
        ParameterType parameters = options.recipe().parameters();
        if (precision == Precision.BF16 || parameters == ParameterType.BF16) {
            return Optional.of(Operands.BF16);
        }
        if (precision == Precision.F16 || parameters == ParameterType.F16) {
            return Optional.of(Operands.F16);
        }
        if (parameters == ParameterType.F64 || precision == Precision.FP8) {
            return Optional.empty();
        }
        return Optional.of(options.device().usesTf32() ? Operands.TF32 : Operands.F32);
    }
}
