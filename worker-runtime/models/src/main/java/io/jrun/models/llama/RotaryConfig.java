package io.jrun.models.llama;

import io.jrun.models.transformer.RotaryScaling;
import io.jrun.train.json.JsonObject;
import java.util.Optional;

/**
 * The rotary embedding in a configuration: {@code rope_theta} and {@code rope_scaling}, or {@code rope_parameters} with
 * both.
 */
record RotaryConfig(double theta, Optional<RotaryScaling> scaling) {
    private static final double DEFAULT_THETA = 10_000;
    /** The values of Llama 3.1 in Meta's code. */
    private static final RotaryScaling LLAMA_31 = new RotaryScaling(8, 1, 4, 8192);

    /** Reads config.json. Throws {@link IllegalArgumentException} naming a kind of scaling that jrun lacks. */
    static RotaryConfig of(JsonObject config) {
        double theta = config.number("rope_theta", DEFAULT_THETA);
        for (String key : new String[] {"rope_parameters", "rope_scaling"}) {
            if (config.has(key)) {
                JsonObject rope = config.object(key);
                return new RotaryConfig(rope.number("rope_theta", theta), scaling(rope));
            }
        }
        return new RotaryConfig(theta, Optional.empty());
    }

    private static Optional<RotaryScaling> scaling(JsonObject rope) {
        String type = rope.text("rope_type").or(() -> rope.text("type")).orElse("default");
        return switch (type) {
            case "default" -> Optional.empty();
            case "llama3" ->
                Optional.of(new RotaryScaling(
                        rope.number("factor"),
                        rope.number("low_freq_factor"),
                        rope.number("high_freq_factor"),
                        rope.number("original_max_position_embeddings")));
            default ->
                throw new IllegalArgumentException("config.json asks for rope_scaling of the type '" + type
                        + "'; jrun's Llama has default and llama3");
        };
    }

    /** Reads Meta's params.json. */
    static Optional<RotaryScaling> scalingOfMeta(JsonObject params) {
        return params.flag("use_scaled_rope", false)
                ? Optional.of(new RotaryScaling(
                        params.number("rope_scaling_factor", LLAMA_31.factor()),
                        LLAMA_31.lowFactor(),
                        params.number("high_freq_factor", LLAMA_31.highFactor()),
                        LLAMA_31.context()))
                : Optional.empty();
    }

    /** The value of {@code rope_scaling}. */
    static String toJson(Optional<RotaryScaling> scaling) {
        return scaling.map(it -> "{\"rope_type\": \"llama3\", \"factor\": " + it.factor() + ", \"low_freq_factor\": "
                        + it.lowFactor() + ", \"high_freq_factor\": " + it.highFactor()
                        + ", \"original_max_position_embeddings\": " + (long) it.context() + "}")
                .orElse("null");
    }
}
