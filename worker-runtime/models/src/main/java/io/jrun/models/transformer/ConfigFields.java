package io.jrun.models.transformer;

import io.jrun.train.json.JsonObject;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The fields of a configuration file. A model declares each field of its family: the field is read, or has no effect on
 * the numbers, or has one supported value. A field that no declaration names is unknown.
 */
public final class ConfigFields {
    /** Fields of each class of configurations in transformers that change no number of a forward pass. */
    private static final Set<String> WITHOUT_EFFECT = Set.of(
            // Fields about the file itself and about the program that wrote the file.
            "model_type",
            "architectures",
            "transformers_version",
            "_name_or_path",
            "name_or_path",
            "_commit_hash",
            // The element type: jrun computes in float32 and converts the weights.
            "torch_dtype",
            "dtype",
            "use_bfloat16",
            // The form of the results and the way to compute them.
            "output_hidden_states",
            "output_attentions",
            "output_past",
            "return_dict",
            "torchscript",
            "tf_legacy_loss",
            "tie_last_hidden_states",
            "chunk_size_feed_forward",
            "gradient_checkpointing",
            "attn_implementation",
            "_attn_implementation",
            "_attn_implementation_internal",
            "_attn_implementation_autoset",
            "experts_implementation",
            "use_cache",
            // The first values of weights that no file has.
            "initializer_range",
            // Heads of other tasks.
            "finetuning_task",
            "id2label",
            "label2id",
            "num_labels",
            "problem_type",
            "task_specific_params",
            // The second model of an encoder with a decoder.
            "cross_attention_hidden_size",
            "tie_encoder_decoder",
            // Tokenizers.
            "tokenizer_class",
            "prefix",
            "bos_token_id",
            "eos_token_id",
            "pad_token_id",
            "sep_token_id",
            "decoder_start_token_id");

    /** Settings of the generation of texts, which older files have. */
    private static final Set<String> OF_GENERATION = Set.of(
            "max_length",
            "max_new_tokens",
            "min_length",
            "min_new_tokens",
            "do_sample",
            "early_stopping",
            "num_beams",
            "num_beam_groups",
            "diversity_penalty",
            "temperature",
            "top_k",
            "top_p",
            "min_p",
            "typical_p",
            "epsilon_cutoff",
            "eta_cutoff",
            "repetition_penalty",
            "encoder_repetition_penalty",
            "length_penalty",
            "no_repeat_ngram_size",
            "encoder_no_repeat_ngram_size",
            "bad_words_ids",
            "num_return_sequences",
            "output_scores",
            "return_dict_in_generate",
            "forced_bos_token_id",
            "forced_eos_token_id",
            "remove_invalid_values",
            "exponential_decay_length_penalty",
            "suppress_tokens",
            "begin_suppress_tokens",
            "num_assistant_tokens",
            "num_assistant_tokens_schedule",
            "assistant_confidence_threshold",
            "assistant_lookbehind",
            "target_lookbehind");

    private static final int SHOWN = 5;

    private final JsonObject json;
    private final String file;
    private final String reader;
    private final Set<String> known = new HashSet<>();

    /**
     * No field is declared yet.
     *
     * @param file name of the file in messages
     * @param reader what reads the file, in messages: {@code jrun's GPT-2}
     */
    public ConfigFields(JsonObject json, String file, String reader) {
        this.json = json;
        this.file = file;
        this.reader = reader;
    }

    /** Fields of {@code config.json} that all models share. Refuses what no model of jrun has. */
    public static ConfigFields ofTransformers(JsonObject json, String model) {
        ConfigFields fields = new ConfigFields(json, "config.json", "jrun's " + model);
        fields.known.addAll(WITHOUT_EFFECT);
        fields.known.addAll(OF_GENERATION);
        return fields.flag("is_encoder_decoder", false)
                .absent("pruned_heads", "quantization_config", "compression_config", "per_layer_config");
    }

    /** Declares fields that the model reads. */
    public ConfigFields read(String... keys) {
        known.addAll(Arrays.asList(keys));
        return this;
    }

    /** Declares fields that change no number. */
    public ConfigFields withoutEffect(String... keys) {
        return read(keys);
    }

    /** Declares a field with one supported truth value, which is also the default. */
    public ConfigFields flag(String key, boolean supported) {
        return require(
                key, json.flag(key, supported) == supported, String.valueOf(json.flag(key, supported)), supported);
    }

    /** Declares a field with one supported number, which is also the default. */
    public ConfigFields number(String key, double supported) {
        double value = json.number(key, supported);
        return require(key, value == supported, String.valueOf(value), supported);
    }

    /** Declares a field with one supported text, which is also the default. */
    public ConfigFields text(String key, String supported) {
        String value = json.text(key).orElse(supported);
        return require(key, value.equals(supported), "'" + value + "'", "'" + supported + "'");
    }

    /** Declares fields that must be absent, null or empty. */
    public ConfigFields absent(String... keys) {
        for (String key : keys) {
            boolean isEmpty = (json.isObject(key) && json.object(key).keys().isEmpty())
                    || (json.isList(key) && json.size(key) == 0);
            require(key, !json.has(key) || isEmpty, "present", "no such field");
        }
        return this;
    }

    private ConfigFields require(String key, boolean holds, String value, Object supported) {
        if (!holds) {
            throw new IllegalArgumentException(
                    file + ": '" + key + "' is " + value + "; " + reader + " supports " + supported);
        }
        known.add(key);
        return this;
    }

    /** One line that names the unknown fields; empty if there are none. A field whose value is null counts as absent. */
    public List<String> notes() {
        List<String> unknown = json.keys().stream()
                .filter(key -> json.has(key) && !known.contains(key))
                .sorted()
                .toList();
        if (unknown.isEmpty()) {
            return List.of();
        }
        return List.of(file + " has fields that " + reader + " does not know and does not use: " + some(unknown));
    }

    private static String some(List<String> names) {
        Stream<String> shown = names.stream().limit(SHOWN);
        return String.join(", ", shown.toList())
                + (names.size() > SHOWN ? " and " + (names.size() - SHOWN) + " more" : "");
    }
}
