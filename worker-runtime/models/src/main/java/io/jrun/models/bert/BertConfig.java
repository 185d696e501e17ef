package io.jrun.models.bert;

import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.json.JsonObject;

/**
 * The sizes of a BERT, with the names and defaults of Hugging Face's config.json.
 *
 * @param inner width of the feed-forward layer
 * @param segments number of token types
 */
public record BertConfig(
        long vocabulary, long context, long width, long layers, long heads, long inner, long segments, double epsilon) {
    /** Checks that the heads divide the width. */
    public BertConfig {
        if (width % heads != 0) {
            throw new IllegalArgumentException(
                    "hidden_size " + width + " is not a multiple of num_attention_heads " + heads);
        }
    }

    /**
     * Reads a configuration. Throws {@link IllegalArgumentException} if a value is missing or not supported; the
     * message names the value.
     */
    public static BertConfig of(JsonObject json) {
        String activation = json.text("hidden_act").orElse("gelu");
        String position = json.text("position_embedding_type").orElse("absolute");
        if (!activation.equals("gelu") || !position.equals("absolute")) {
            throw new IllegalArgumentException("config.json asks for hidden_act " + activation
                    + " and position_embedding_type " + position + "; jrun's BERT has gelu and absolute");
        }
        return new BertConfig(
                json.count("vocab_size"),
                json.countOr("max_position_embeddings", 512),
                json.count("hidden_size"),
                json.count("num_hidden_layers", LanguageModel.MAX_LAYERS),
                json.count("num_attention_heads"),
                json.count("intermediate_size"),
                json.countOr("type_vocab_size", 2),
                json.number("layer_norm_eps", 1e-12));
    }

    String toJson() {
        return """
                {
                  "architectures": ["BertForMaskedLM"],
                  "model_type": "bert",
                  "hidden_act": "gelu",
                  "vocab_size": %d,
                  "max_position_embeddings": %d,
                  "hidden_size": %d,
                  "num_hidden_layers": %d,
                  "num_attention_heads": %d,
                  "intermediate_size": %d,
                  "type_vocab_size": %d,
                  "layer_norm_eps": %s
                }
                """.formatted(vocabulary, context, width, layers, heads, inner, segments, epsilon);
    }
}
