package io.jrun.models.lora;

import io.jrun.train.json.JsonObject;
import io.jrun.train.json.JsonWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * The options of adapters.
 *
 * @param rank inner size of an adapter, at least 1
 * @param alpha the output of an adapter is multiplied by {@code alpha / rank}
 * @param targets last words of the names of the projections, for example {@code q_proj}
 * @param seed seed of the random values of the inner matrices
 */
public record LoraOptions(long rank, double alpha, List<String> targets, long seed) {
    /** Wider than each published model: a larger rank in a file is an error of the file. */
    private static final long MAX_RANK = 1 << 16;

    /** Checks the rank. */
    public LoraOptions {
        targets = List.copyOf(targets);
        if (rank < 1) {
            throw new IllegalArgumentException("the rank of adapters is " + rank + ", expected at least 1");
        }
    }

    /**
     * Reads {@code adapter_config.json} of PEFT. The seed is 0.
     *
     * @throws IllegalArgumentException in one line, if the file asks for adapters that jrun lacks
     */
    static LoraOptions read(Path file) throws IOException {
        JsonObject json = JsonObject.read(file);
        String type = json.text("peft_type").orElse("none");
        if (!type.equals("LORA")) {
            throw new IllegalArgumentException(file + " has the peft_type '" + type + "'; jrun has LORA");
        }
        for (String flag : List.of("use_rslora", "use_dora")) {
            if (json.flag(flag, false)) {
                throw new IllegalArgumentException(file + " asks for " + flag + ", which jrun lacks");
            }
        }
        for (String key : List.of("modules_to_save", "layers_to_transform", "rank_pattern", "alpha_pattern")) {
            boolean isEmpty = json.isObject(key) && json.object(key).keys().isEmpty();
            if (json.has(key) && !isEmpty) {
                throw new IllegalArgumentException(file + " asks for " + key + ", which jrun lacks");
            }
        }
        if (!json.text("bias").orElse("none").equals("none")) {
            throw new IllegalArgumentException(file + " asks for trained biases, which jrun lacks");
        }
        long rank = json.integer("r");
        if (rank > MAX_RANK) {
            throw new IllegalArgumentException(file + " has the rank " + rank + ", expected at most " + MAX_RANK);
        }
        return new LoraOptions(rank, json.number("lora_alpha", (double) rank), json.texts("target_modules"), 0);
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
