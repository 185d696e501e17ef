package io.jrun.models.llama;

import io.jrun.models.transformer.Activation;
import io.jrun.models.transformer.ConfigFields;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.RotaryEmbedding;
import io.jrun.models.transformer.RotaryEmbedding.Pairs;
import io.jrun.models.transformer.RotaryScaling;
import io.jrun.train.json.JsonObject;
import io.jrun.train.tensorparallel.ParallelStyle;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

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
 * @param activation of the gate of the feed-forward layer
 * @param hasFeedForwardBias whether the projections of the feed-forward layer have a bias
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
        Optional<RotaryScaling> scaling,
        Activation activation,
        boolean hasFeedForwardBias) {
    private static final long DEFAULT_CONTEXT = 2048;

    /** Checks that the heads of keys divide the heads, and the range of the epsilon. */
    public LlamaConfig {
        if (!(epsilon >= 0)) {
            throw new IllegalArgumentException("rms_norm_eps is " + epsilon + ", expected at least 0");
        }
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
        fields(json);
        long context = json.countOr("max_position_embeddings", DEFAULT_CONTEXT);
        RotaryConfig rotary = RotaryConfig.of(json, context);
        long heads = json.count("num_attention_heads");
        long width = json.count("hidden_size");
        return new LlamaConfig(
                json.count("vocab_size"),
                context,
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
                rotary.scaling(),
                Activation.named("hidden_act", json.text("hidden_act").orElse("silu")),
                json.flag("mlp_bias", false));
    }

    /** Lines about the fields that no Llama has; empty if there are none. */
    public static List<String> notes(JsonObject json) {
        RotaryConfig rotary = RotaryConfig.of(json, json.countOr("max_position_embeddings", DEFAULT_CONTEXT));
        return Stream.concat(fields(json).notes().stream(), rotary.notes().stream())
                .toList();
    }

    private static ConfigFields fields(JsonObject json) {
        return ConfigFields.ofTransformers(json, "Llama")
                .read("vocab_size", "max_position_embeddings", "hidden_size", "num_hidden_layers")
                .read("num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size", "rms_norm_eps")
                .read("hidden_act", "tie_word_embeddings", "attention_bias", "mlp_bias")
                .read("rope_theta", "rope_scaling", "rope_parameters", "original_max_position_embeddings")
                .number("partial_rotary_factor", 1)
                .flag("add_cross_attention", false)
                .withoutEffect("attention_dropout") // jrun trains without dropout.
                // The number of parts of a projection that were computed one after the other.
                .withoutEffect("pretraining_tp", "is_decoder");
    }

    /**
     * Reads Meta's params.json, which lacks two sizes.
     *
     * @param vocabulary rows of {@code tok_embeddings.weight}
     * @param inner rows of {@code layers.0.feed_forward.w1.weight}
     */
    public static LlamaConfig ofMeta(JsonObject params, long vocabulary, long inner) {
        fieldsOfMeta(params);
        long heads = params.count("n_heads");
        long width = params.count("dim");
        return new LlamaConfig(
                vocabulary,
                params.countOr("max_seq_len", DEFAULT_CONTEXT),
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
                RotaryConfig.scalingOfMeta(params),
                Activation.SILU,
                false);
    }

    /** As {@link #notes}, for Meta's params.json. */
    public static List<String> notesOfMeta(JsonObject params) {
        return fieldsOfMeta(params).notes();
    }

    private static ConfigFields fieldsOfMeta(JsonObject params) {
        return new ConfigFields(params, "params.json", "jrun's Llama")
                .read("dim", "n_layers", "n_heads", "n_kv_heads", "norm_eps", "rope_theta", "max_seq_len")
                .read("use_scaled_rope", "rope_scaling_factor", "high_freq_factor")
                // The shapes of the weights have these sizes.
                .withoutEffect("vocab_size", "multiple_of", "ffn_dim_multiplier", "max_batch_size")
                .absent("quantization_args", "lora_args", "moe");
    }

    LlamaConfig untied() {
        return new LlamaConfig(
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
                false,
                hasAttentionBias,
                pairs,
                scaling,
                activation,
                hasFeedForwardBias);
    }

    RotaryEmbedding rotary() {
        return new RotaryEmbedding(headWidth, theta, pairs, scaling);
    }

    /** The plan by which tensor parallel ranks share the layers, experts aside. */
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
                  "hidden_act": "%s",
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
                  "attention_bias": %b,
                  "mlp_bias": %b
                }
                """.formatted(
                        activation.configName(),
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
                        hasAttentionBias,
                        hasFeedForwardBias);
    }

    /** Bytes of the float32 parameters, without norms and biases. */
    public double parameterBytes() {
        double layer = 2.0 * width * headWidth * (heads + keyHeads) + 3.0 * width * inner;
        return Float.BYTES * ((double) vocabulary * width + layers * layer);
    }
}
