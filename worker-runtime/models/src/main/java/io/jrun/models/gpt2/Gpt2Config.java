package io.jrun.models.gpt2;

import io.jrun.models.transformer.Activation;
import io.jrun.models.transformer.ConfigFields;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.json.JsonObject;
import io.jrun.train.tensorparallel.ParallelStyle;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The sizes of a GPT-2, with the names and defaults of Hugging Face's config.json.
 *
 * @param inner width of the feed-forward layer
 * @param isTied whether the output layer uses the matrix of the embedding
 * @param activation of the feed-forward layer
 * @param scalesAttention whether the products of queries and keys are divided by the root of the width of a head
 * @param scalesByLayer whether the products are also divided by the number of the block, counted from 1
 */
public record Gpt2Config(
        long vocabulary,
        long context,
        long width,
        long layers,
        long heads,
        long inner,
        double epsilon,
        boolean isTied,
        Activation activation,
        boolean scalesAttention,
        boolean scalesByLayer) {
    private static final String ACTIVATION = "activation_function";

    /** Checks that the heads divide the width, and the range of the epsilon. */
    public Gpt2Config {
        if (width % heads != 0) {
            throw new IllegalArgumentException("n_embd " + width + " is not a multiple of n_head " + heads);
        }
        if (!(epsilon >= 0)) {
            throw new IllegalArgumentException("layer_norm_epsilon is " + epsilon + ", expected at least 0");
        }
    }

    /** With the activation and the scale of the published GPT-2. */
    public Gpt2Config(
            long vocabulary,
            long context,
            long width,
            long layers,
            long heads,
            long inner,
            double epsilon,
            boolean isTied) {
        this(vocabulary, context, width, layers, heads, inner, epsilon, isTied, Activation.GELU_TANH, true, false);
    }

    /**
     * Reads a configuration. Throws {@link IllegalArgumentException} if a value is missing or not supported; the
     * message names the value.
     */
    public static Gpt2Config of(JsonObject json) {
        fields(json);
        long width = size(json, "n_embd", "hidden_size", Integer.MAX_VALUE);
        return new Gpt2Config(
                json.count("vocab_size"),
                json.countOr("n_positions", json.countOr("max_position_embeddings", json.countOr("n_ctx", 1024))),
                width,
                size(json, "n_layer", "num_hidden_layers", LanguageModel.MAX_LAYERS),
                size(json, "n_head", "num_attention_heads", Integer.MAX_VALUE),
                json.countOr("n_inner", 4 * width),
                json.number("layer_norm_epsilon", 1e-5),
                json.flag("tie_word_embeddings", true),
                Activation.named(ACTIVATION, json.text(ACTIVATION).orElse("gelu_new")),
                json.flag("scale_attn_weights", true),
                json.flag("scale_attn_by_inverse_layer_idx", false));
    }

    /** One line about the fields that no GPT-2 has; empty if there are none. */
    public static List<String> notes(JsonObject json) {
        return fields(json).notes();
    }

    private static ConfigFields fields(JsonObject json) {
        return ConfigFields.ofTransformers(json, "GPT-2")
                .read("vocab_size", "n_positions", "max_position_embeddings", "n_ctx", "n_embd", "hidden_size")
                .read("n_layer", "num_hidden_layers", "n_head", "num_attention_heads", "n_inner", ACTIVATION)
                .read("layer_norm_epsilon", "tie_word_embeddings", "scale_attn_weights")
                .read("scale_attn_by_inverse_layer_idx")
                .flag("add_cross_attention", false)
                // The order of the operations in mixed precision.
                .withoutEffect("reorder_and_upcast_attn", "is_decoder")
                .withoutEffect("resid_pdrop", "embd_pdrop", "attn_pdrop") // jrun trains without dropout.
                .withoutEffect("summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels")
                .withoutEffect("summary_first_dropout");
    }

    /** The size of a field that has two names. */
    private static long size(JsonObject json, String key, String otherKey, long max) {
        if (json.has(key) && json.has(otherKey) && json.integer(key) != json.integer(otherKey)) {
            throw new IllegalArgumentException("config.json: '" + key + "' is " + json.integer(key) + " but '"
                    + otherKey + "' is " + json.integer(otherKey) + "; both are the same size");
        }
        return json.count(json.has(key) || !json.has(otherKey) ? key : otherKey, max);
    }

    /** The factor of the queries of a block, counted from 0: 1 for the published GPT-2. */
    double queryFactor(long block) {
        double unscaled = scalesAttention ? 1 : Math.sqrt((double) width / heads);
        return scalesByLayer ? unscaled / (block + 1) : unscaled;
    }

    Gpt2Config untied() {
        return new Gpt2Config(
                vocabulary,
                context,
                width,
                layers,
                heads,
                inner,
                epsilon,
                false,
                activation,
                scalesAttention,
                scalesByLayer);
    }

    /** The plan by which tensor parallel ranks share the layers, experts aside. */
    public Map<String, ParallelStyle> tensorParallelPlan() {
        Map<String, ParallelStyle> plan = new LinkedHashMap<>();
        plan.put("loss", ParallelStyle.VOCABULARY);
        plan.put("transformer.wte", ParallelStyle.VOCABULARY);
        if (!isTied) {
            plan.put("lm_head", ParallelStyle.VOCABULARY);
        }
        plan.put("transformer.wpe", ParallelStyle.SEQUENCE);
        plan.put("transformer.h.*.ln_*", ParallelStyle.SEQUENCE);
        plan.put("transformer.ln_f", ParallelStyle.SEQUENCE);
        plan.put("transformer.h.*.attn.c_attn", ParallelStyle.jointHeads(heads));
        plan.put("transformer.h.*.attn.c_proj", ParallelStyle.ROW);
        plan.put("transformer.h.*.mlp.c_fc", ParallelStyle.COLUMN);
        plan.put("transformer.h.*.mlp.c_proj", ParallelStyle.ROW);
        return plan;
    }

    String toJson() {
        return """
                {
                  "architectures": ["GPT2LMHeadModel"],
                  "model_type": "gpt2",
                  "activation_function": "%s",
                  "vocab_size": %d,
                  "n_positions": %d,
                  "n_embd": %d,
                  "n_layer": %d,
                  "n_head": %d,
                  "n_inner": %d,
                  "layer_norm_epsilon": %s,
                  "tie_word_embeddings": %b,
                  "scale_attn_weights": %b,
                  "scale_attn_by_inverse_layer_idx": %b
                }
                """.formatted(
                        activation.configName(),
                        vocabulary,
                        context,
                        width,
                        layers,
                        heads,
                        inner,
                        epsilon,
                        isTied,
                        scalesAttention,
                        scalesByLayer);
    }

    /** Bytes of the float32 parameters, without norms and biases. */
    public double parameterBytes() {
        double layer = 4.0 * width * width + 2.0 * width * inner;
        return Float.BYTES * ((double) (vocabulary + context) * width + layers * layer);
    }
}
