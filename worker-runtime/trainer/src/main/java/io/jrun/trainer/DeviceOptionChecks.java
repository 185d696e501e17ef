package io.jrun.trainer;

import io.jrun.trainer.TrainingRecipe.Precision;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.ArrayList;
import java.util.List;

/** Refuses options that work in host memory only when the ranks compute on GPUs. The refusal has one line. */
final class DeviceOptionChecks {
    private DeviceOptionChecks() {}

    /** Checks options whose device is chosen. */
    static void check(TrainingArguments options) {
        if (options.device().device().isCpu()) {
            return;
        }
        List<String> given = onCpusOnly(options);
        if (!given.isEmpty()) {
            throw new InvalidArgumentException(String.join(", ", given)
                    + (given.size() == 1 ? " works" : " work")
                    + " on CPUs only so far, and the ranks compute on GPUs: give --device=cpu, or train on GPUs without "
                    + (given.size() == 1 ? "this option" : "these options"));
        }
    }

    private static List<String> onCpusOnly(TrainingArguments options) {
        TrainingRecipe recipe = options.recipe();
        List<String> given = new ArrayList<>();
        add(given, recipe.precision() == Precision.FP8, "--precision=fp8");
        add(given, recipe.exchange().unevenEnd().isPresent(), "--uneven");
        return given;
    }

    private static void add(List<String> given, boolean isGiven, String option) {
        if (isGiven) {
            given.add(option);
        }
    }
}
