package io.jrun.models.gpt2;

import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.json.JsonObject;
import io.jrun.train.tensorparallel.ParallelStyle;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The sizes of a GPT-2, with the names and defaults of Hugging Face's config.json.
 *
 * @param inner width of the feed-forward layer
 * @param isTied whether the output layer uses the matrix of the embedding
 */
public record Gpt2Config(
        long vocabulary,
        long context,
        long width,
        long layers,
        long heads,
        long inner,
        double epsilon,
        boolean isTied) {
    /** Checks that the heads divide the width. */
    public Gpt2Config {
        if (width % heads != 0) {
            throw new IllegalArgumentException("n_embd " + width + " is not a multiple of n_head " + heads);
        }
    }

    /**
     * Reads a configuration. Throws {@link IllegalArgumentException} if a value is missing or not supported; the
     * message names the value.
     */
    public static Gpt2Config of(JsonObject json) {
        String activation = json.text("activation_function").orElse("gelu_new");
        if (!activation.equals("gelu_new") || json.flag("scale_attn_by_inverse_layer_idx", false)) {
            throw new IllegalArgumentException("config.json asks for activation_function " + activation
                    + " or scale_attn_by_inverse_layer_idx; jrun's GPT-2 has gelu_new without that scale");
        }
        long width = json.count("n_embd");
        return new Gpt2Config(
                json.count("vocab_size"),
                json.countOr("n_positions", json.countOr("n_ctx", 1024)),
                width,
                json.count("n_layer", LanguageModel.MAX_LAYERS),
                json.count("n_head"),
                json.countOr("n_inner", 4 * width),
                json.number("layer_norm_epsilon", 1e-5),
                json.flag("tie_word_embeddings", true));
    }

    /** The plan by which tensor parallel ranks share the layers of a model without experts. */
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
                  "activation_function": "gelu_new",
                  "vocab_size": %d,
                  "n_positions": %d,
                  "n_embd": %d,
                  "n_layer": %d,
                  "n_head": %d,
                  "n_inner": %d,
                  "layer_norm_epsilon": %s,
                  "tie_word_embeddings": %b
                }
                """.formatted(vocabulary, context, width, layers, heads, inner, epsilon, isTied);
    }
}
