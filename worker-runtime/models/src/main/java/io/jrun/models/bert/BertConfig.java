package io.jrun.models.bert;

import io.jrun.models.transformer.Activation;
import io.jrun.models.transformer.ConfigFields;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.json.JsonObject;
import java.util.List;

/**
 * The sizes of a BERT, with the names and defaults of Hugging Face's config.json.
 *
 * @param inner width of the feed-forward layer
 * @param segments number of token types
 * @param activation of the feed-forward layers and of the head
 * @param isTied whether the head uses the matrix of the embedding
 */
public record BertConfig(
        long vocabulary,
        long context,
        long width,
        long layers,
        long heads,
        long inner,
        long segments,
        double epsilon,
        Activation activation,
        boolean isTied) {
    /** Checks that the heads divide the width, and the range of the epsilon. */
    public BertConfig {
        if (width % heads != 0) {
            throw new IllegalArgumentException(
                    "hidden_size " + width + " is not a multiple of num_attention_heads " + heads);
        }
        if (!(epsilon >= 0)) {
            throw new IllegalArgumentException("layer_norm_eps is " + epsilon + ", expected at least 0");
        }
    }

    /**
     * Reads a configuration. Throws {@link IllegalArgumentException} if a value is missing or not supported; the
     * message names the value.
     */
    public static BertConfig of(JsonObject json) {
        fields(json);
        return new BertConfig(
                json.count("vocab_size"),
                json.countOr("max_position_embeddings", 512),
                json.count("hidden_size"),
                json.count("num_hidden_layers", LanguageModel.MAX_LAYERS),
                json.count("num_attention_heads"),
                json.count("intermediate_size"),
                json.countOr("type_vocab_size", 2),
                json.number("layer_norm_eps", 1e-12),
                Activation.named("hidden_act", json.text("hidden_act").orElse("gelu")),
                json.flag("tie_word_embeddings", true));
    }

    /** One line about the fields that no BERT has; empty if there are none. */
    public static List<String> notes(JsonObject json) {
        return fields(json).notes();
    }

    private static ConfigFields fields(JsonObject json) {
        return ConfigFields.ofTransformers(json, "BERT")
                .read("vocab_size", "max_position_embeddings", "hidden_size", "num_hidden_layers")
                .read("num_attention_heads", "intermediate_size", "type_vocab_size", "layer_norm_eps")
                .read("hidden_act", "tie_word_embeddings")
                .text("position_embedding_type", "absolute")
                .flag("is_decoder", false)
                .flag("add_cross_attention", false)
                // jrun trains without dropout.
                .withoutEffect("hidden_dropout_prob", "attention_probs_dropout_prob")
                // Heads of other tasks.
                .withoutEffect("classifier_dropout", "directionality", "pooler_fc_size", "pooler_num_attention_heads")
                .withoutEffect("pooler_num_fc_layers", "pooler_size_per_head", "pooler_type");
    }

    BertConfig untied() {
        return new BertConfig(vocabulary, context, width, layers, heads, inner, segments, epsilon, activation, false);
    }

    String toJson() {
        return """
                {
                  "architectures": ["BertForMaskedLM"],
                  "model_type": "bert",
                  "hidden_act": "%s",
                  "vocab_size": %d,
                  "max_position_embeddings": %d,
                  "hidden_size": %d,
                  "num_hidden_layers": %d,
                  "num_attention_heads": %d,
                  "intermediate_size": %d,
                  "type_vocab_size": %d,
                  "layer_norm_eps": %s,
                  "tie_word_embeddings": %b
                }
                """.formatted(
                activation.configName(), vocabulary, context, width, layers, heads, inner, segments, epsilon, isTied);
    }

    /** Bytes of the float32 parameters, without norms and biases. */
    public double parameterBytes() {
        double layer = 4.0 * width * width + 2.0 * width * inner;
        return Float.BYTES * ((double) (vocabulary + context) * width + layers * layer);
    }
}
