package io.jrun.models.llama;

import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.RotaryEmbedding;
import io.jrun.models.transformer.RotaryEmbedding.Pairs;
import io.jrun.models.transformer.RotaryScaling;
import io.jrun.train.json.JsonObject;
import io.jrun.train.tensorparallel.ParallelStyle;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The sizes of a Llama, with the names and defaults of Hugging Face's config.json.
 *
 * @param inner width of the feed-forward layer
 * @param keyHeads heads of keys and values; divides {@code heads}
 * @param headWidth width of a head
 * @param theta base of the rotary angles
 * @param isTied whether the output layer uses the matrix of the embedding
 * @param hasAttentionBias whether the projections of the attention have a bias
 * @param pairs the rotary pairs of the file
 * @param scaling the change of the rotary frequencies; empty for none
 */
public record LlamaConfig(
        long vocabulary,
        long context,
        long width,
        long layers,
        long heads,
        long keyHeads,
        long headWidth,
        long inner,
        double epsilon,
        double theta,
        boolean isTied,
        boolean hasAttentionBias,
        Pairs pairs,
        Optional<RotaryScaling> scaling) {
    /** Checks that the heads of keys divide the heads. */
    public LlamaConfig {
        if (headWidth < 1) {
            throw new IllegalArgumentException("hidden_size " + width + " is less than num_attention_heads " + heads
                    + ", and there is no head_dim");
        }
        if (heads % keyHeads != 0) {
            throw new IllegalArgumentException(
                    "num_attention_heads " + heads + " is not a multiple of num_key_value_heads " + keyHeads);
        }
    }

    /**
     * Reads Hugging Face's config.json. Throws {@link IllegalArgumentException} if a value is missing or not supported;
     * the message names the value.
     */
    public static LlamaConfig of(JsonObject json) {
        String activation = json.text("hidden_act").orElse("silu");
        if (!activation.equals("silu") || json.flag("mlp_bias", false)) {
            throw new IllegalArgumentException("config.json asks for hidden_act " + activation
                    + " or mlp_bias; jrun's Llama has silu and no mlp_bias");
        }
        RotaryConfig rotary = RotaryConfig.of(json);
        long heads = json.count("num_attention_heads");
        long width = json.count("hidden_size");
        return new LlamaConfig(
                json.count("vocab_size"),
                json.countOr("max_position_embeddings", 2048),
                width,
                json.count("num_hidden_layers", LanguageModel.MAX_LAYERS),
                heads,
                json.countOr("num_key_value_heads", heads),
                json.countOr("head_dim", width / heads),
                json.count("intermediate_size"),
                json.number("rms_norm_eps", 1e-6),
                rotary.theta(),
                json.flag("tie_word_embeddings", false),
                json.flag("attention_bias", false),
                Pairs.HALVES,
                rotary.scaling());
    }

    /**
     * Reads Meta's params.json, which lacks two sizes.
     *
     * @param vocabulary rows of {@code tok_embeddings.weight}
     * @param inner rows of {@code layers.0.feed_forward.w1.weight}
     */
    public static LlamaConfig ofMeta(JsonObject params, long vocabulary, long inner) {
        long heads = params.count("n_heads");
        long width = params.count("dim");
        return new LlamaConfig(
                vocabulary,
                params.countOr("max_seq_len", 2048),
                width,
                params.count("n_layers", LanguageModel.MAX_LAYERS),
                heads,
                params.countOr("n_kv_heads", heads),
                width / heads,
                inner,
                params.number("norm_eps", 1e-5),
                params.number("rope_theta", 10_000),
                false,
                false,
                Pairs.INTERLEAVED,
                RotaryConfig.scalingOfMeta(params));
    }

    RotaryEmbedding rotary() {
        return new RotaryEmbedding(headWidth, theta, pairs, scaling);
    }

    /** The plan by which tensor parallel ranks share the layers of a model without experts. */
    public Map<String, ParallelStyle> tensorParallelPlan() {
        Map<String, ParallelStyle> plan = new LinkedHashMap<>();
        plan.put("loss", ParallelStyle.VOCABULARY);
        plan.put("model.embed_tokens", ParallelStyle.VOCABULARY);
        if (!isTied) {
            plan.put("lm_head", ParallelStyle.VOCABULARY);
        }
        plan.put("model.norm", ParallelStyle.SEQUENCE);
        plan.put("model.layers.*.*_layernorm", ParallelStyle.SEQUENCE);
        plan.put("model.layers.*.self_attn.q_proj", ParallelStyle.heads(heads));
        plan.put("model.layers.*.self_attn.k_proj", ParallelStyle.heads(keyHeads));
        plan.put("model.layers.*.self_attn.v_proj", ParallelStyle.heads(keyHeads));
        plan.put("model.layers.*.self_attn.o_proj", ParallelStyle.ROW);
        plan.put("model.layers.*.mlp.gate_proj", ParallelStyle.COLUMN);
        plan.put("model.layers.*.mlp.up_proj", ParallelStyle.COLUMN);
        plan.put("model.layers.*.mlp.down_proj", ParallelStyle.ROW);
        return plan;
    }

    String toJson() {
        return """
                {
                  "architectures": ["LlamaForCausalLM"],
                  "model_type": "llama",
                  "hidden_act": "silu",
                  "vocab_size": %d,
                  "max_position_embeddings": %d,
                  "hidden_size": %d,
                  "num_hidden_layers": %d,
                  "num_attention_heads": %d,
                  "num_key_value_heads": %d,
                  "head_dim": %d,
                  "intermediate_size": %d,
                  "rms_norm_eps": %s,
                  "rope_theta": %s,
                  "rope_scaling": %s,
                  "tie_word_embeddings": %b,
                  "attention_bias": %b
                }
                """.formatted(
                        vocabulary,
                        context,
                        width,
                        layers,
                        heads,
                        keyHeads,
                        headWidth,
                        inner,
                        epsilon,
                        theta,
                        RotaryConfig.toJson(scaling),
                        isTied,
                        hasAttentionBias);
    }
}
