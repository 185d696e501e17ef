package io.jrun.models.lora;

import io.jrun.train.json.JsonWriter;
import java.util.List;

/**
 * The options of adapters.
 *
 * @param rank inner size of an adapter, at least 1
 * @param alpha the output of an adapter is multiplied by {@code alpha / rank}
 * @param targets ends of the names of the projections, for example {@code q_proj}; {@link #ALL_LINEAR} alone for all
 *     projections but the output layer
 * @param seed seed of the random values of the inner matrices
 */
public record LoraOptions(long rank, double alpha, List<String> targets, long seed) {
    /** PEFT's word for all projections of a model but its output layer. */
    public static final String ALL_LINEAR = "all-linear";

    /** Checks the rank. */
    public LoraOptions {
        targets = List.copyOf(targets);
        if (rank < 1) {
            throw new IllegalArgumentException("the rank of adapters is " + rank + ", expected at least 1");
        }
    }

    LoraOptions withTargets(List<String> newTargets) {
        return new LoraOptions(rank, alpha, newTargets, seed);
    }

    String toJson(boolean isCausal, boolean isTransposed) {
        String names = String.join(", ", targets.stream().map(JsonWriter::write).toList());
        return """
                {
                  "peft_type": "LORA",
                  "task_type": %s,
                  "r": %d,
                  "lora_alpha": %s,
                  "target_modules": [%s],
                  "lora_dropout": 0.0,
                  "bias": "none",
                  "fan_in_fan_out": %b
                }
                """.formatted(isCausal ? "\"CAUSAL_LM\"" : "null", rank, alpha, names, isTransposed);
    }
}
