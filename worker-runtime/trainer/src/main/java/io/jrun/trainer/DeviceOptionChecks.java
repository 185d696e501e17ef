package io.jrun.trainer;

import io.jrun.comm.Device;
import io.jrun.train.device.ComputeCapability;
import io.jrun.train.device.GpuName;
import io.jrun.trainer.TrainingRecipe.Precision;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.Optional;

/** Refuses options that the device of a rank cannot carry out. The refusal has one line. */
final class DeviceOptionChecks {
    private DeviceOptionChecks() {}

    /** Checks options whose device is chosen. */
    static void check(TrainingArguments options) {
        Device device = options.device().device();
        if (device.isCpu()) {
            return;
        }
        TrainingRecipe recipe = options.recipe();
        if (recipe.exchange().unevenEnd().isPresent()) {
            throw new InvalidArgumentException("--uneven works on CPUs only so far, and the ranks compute on GPUs: give"
                    + " --device=cpu, or train on GPUs without this option");
        }
        if (recipe.precision() == Precision.FP8) {
            checkFloat8(GpuName.of(device).orElse("the GPU"), ComputeCapability.of(device));
        }
    }

    /**
     * Checks that a card multiplies 8-bit numbers.
     *
     * @param capability of the card; empty for a simulated device, where the CPU computes
     */
    static void checkFloat8(String card, Optional<ComputeCapability> capability) {
        if (capability.isPresent() && !capability.get().hasFloat8Products()) {
            throw new InvalidArgumentException("--precision=fp8 needs a GPU of compute capability 8.9 or newer, such as"
                    + " L4, H100 or B200, and " + card + " has " + capability.get()
                    + ": give --precision=bf16, or --device=cpu");
        }
    }
}
