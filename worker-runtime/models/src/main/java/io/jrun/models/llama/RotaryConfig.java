package io.jrun.models.llama;

import io.jrun.models.transformer.ConfigFields;
import io.jrun.models.transformer.RotaryScaling;
import io.jrun.train.json.JsonObject;
import java.util.List;
import java.util.Optional;

/**
 * The rotary embedding in a configuration: {@code rope_theta} and {@code rope_scaling}, or {@code rope_parameters} with
 * both.
 *
 * @param notes lines about fields that have no effect
 */
record RotaryConfig(double theta, Optional<RotaryScaling> scaling, List<String> notes) {
    private static final double DEFAULT_THETA = 10_000;
    private static final String CONTEXT = "original_max_position_embeddings";
    /** The values of Llama 3.1 in Meta's code. */
    private static final RotaryScaling.Llama3 LLAMA_31 = new RotaryScaling.Llama3(8, 1, 4, 8192);

    RotaryConfig {
        if (!(theta > 0)) {
            throw new IllegalArgumentException("rope_theta is " + theta + ", expected a number above 0");
        }
    }

    /**
     * Reads config.json. If both objects are there, transformers and jrun use {@code rope_scaling}. Throws
     * {@link IllegalArgumentException} naming a kind of scaling that jrun lacks.
     */
    static RotaryConfig of(JsonObject config, long context) {
        double theta = config.number("rope_theta", DEFAULT_THETA);
        for (String key : new String[] {"rope_scaling", "rope_parameters"}) {
            if (config.has(key) && !config.object(key).keys().isEmpty()) {
                JsonObject rope = config.object(key);
                double firstContext = config.number(CONTEXT, rope.number(CONTEXT, (double) context));
                return scaled(rope, key, rope.number("rope_theta", theta), firstContext);
            }
        }
        return new RotaryConfig(theta, Optional.empty(), List.of());
    }

    private static RotaryConfig scaled(JsonObject rope, String key, double theta, double firstContext) {
        String type = rope.text("rope_type").or(() -> rope.text("type")).orElse("default");
        ConfigFields fields = new ConfigFields(rope, "config.json: " + key, "the rope_type '" + type + "'")
                .read("rope_type", "type", "rope_theta")
                .number("partial_rotary_factor", 1);
        Optional<RotaryScaling> scaling = switch (type) {
            case "default" -> Optional.empty();
            case "linear" -> Optional.of(new RotaryScaling.Linear(rope.number("factor")));
            case "llama3" ->
                Optional.of(new RotaryScaling.Llama3(
                        rope.number("factor"),
                        rope.number("low_freq_factor"),
                        rope.number("high_freq_factor"),
                        firstContext));
            default ->
                throw new IllegalArgumentException("config.json asks for rope_scaling of the type '" + type
                        + "'; jrun's Llama has default, linear and llama3");
        };
        switch (type) {
            case "linear" -> fields.read("factor").withoutEffect(CONTEXT);
            case "llama3" -> fields.read("factor", "low_freq_factor", "high_freq_factor", CONTEXT);
            default -> fields.withoutEffect(CONTEXT);
        }
        return new RotaryConfig(theta, scaling, fields.notes());
    }

    /** Reads Meta's params.json. */
    static Optional<RotaryScaling> scalingOfMeta(JsonObject params) {
        return params.flag("use_scaled_rope", false)
                ? Optional.of(new RotaryScaling.Llama3(
                        params.number("rope_scaling_factor", LLAMA_31.factor()),
                        LLAMA_31.lowFactor(),
                        params.number("high_freq_factor", LLAMA_31.highFactor()),
                        LLAMA_31.context()))
                : Optional.empty();
    }

    /** The value of {@code rope_scaling}. */
    static String toJson(Optional<RotaryScaling> scaling) {
        return scaling.map(RotaryScaling::toJson).orElse("null");
    }
}
