package io.jrun.models;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.models.transformer.LanguageModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The config.json of a model that is saved back to a folder. */
class SavedConfigurationTest {
    private static final String LLAMA_31 = """
            {
              "_name_or_path": "meta-llama/Llama-3.1-8B",
              "architectures": ["LlamaForCausalLM"],
              "attention_bias": false,
              "attention_dropout": 0.0,
              "bos_token_id": 58,
              "eos_token_id": [59, 60],
              "hidden_act": "silu",
              "hidden_size": 24,
              "initializer_range": 0.02,
              "intermediate_size": 40,
              "max_position_embeddings": 131072,
              "mlp_bias": false,
              "model_type": "llama",
              "num_attention_heads": 3,
              "num_hidden_layers": 2,
              "num_key_value_heads": 1,
              "pretraining_tp": 1,
              "rms_norm_eps": 1e-05,
              "rope_scaling": {
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
                "rope_type": "llama3"
              },
              "rope_theta": 500000.0,
              "tie_word_embeddings": false,
              "torch_dtype": "bfloat16",
              "transformers_version": "4.43.0.dev0",
              "use_cache": true,
              "vocab_size": 61
            }
            """;
    private static final String LLAMA_NEW = """
            {"architectures": ["LlamaForCausalLM"], "dtype": "bfloat16", "eos_token_id": 2, "pad_token_id": null,
             "hidden_size": 24, "intermediate_size": 40, "model_type": "llama", "num_attention_heads": 3,
             "num_hidden_layers": 1, "vocab_size": 61, "transformers_version": "5.0.0",
             "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}}
            """;
    private static final String BERT_UNCASED = """
            {
              "architectures": ["BertForMaskedLM"],
              "attention_probs_dropout_prob": 0.1,
              "gradient_checkpointing": false,
              "hidden_act": "gelu",
              "hidden_dropout_prob": 0.1,
              "hidden_size": 24,
              "initializer_range": 0.02,
              "intermediate_size": 40,
              "layer_norm_eps": 1e-12,
              "max_position_embeddings": 16,
              "model_type": "bert",
              "num_attention_heads": 3,
              "num_hidden_layers": 1,
              "pad_token_id": 0,
              "position_embedding_type": "absolute",
              "transformers_version": "4.6.0.dev0",
              "type_vocab_size": 2,
              "use_cache": true,
              "vocab_size": 61
            }
            """;
    private static final String GPT2_PUBLISHED = """
            {"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
             "bos_token_id": 60, "embd_pdrop": 0.1, "eos_token_id": 60, "initializer_range": 0.02,
             "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 16, "n_embd": 24, "n_head": 3, "n_layer": 1,
             "n_positions": 16, "resid_pdrop": 0.1, "summary_activation": null, "summary_type": "cls_index",
             "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 61}
            """;

    @TempDir
    private Path folder;

    /** The fields of published folders, with tiny sizes: a saved model keeps each field in its form. */
    @ParameterizedTest
    @ValueSource(strings = {LLAMA_31, LLAMA_NEW, BERT_UNCASED, GPT2_PUBLISHED})
    void aSavedFolderKeepsAllFieldsOfTheConfiguration(String config) throws IOException {
        Path in = Files.createDirectories(folder.resolve("in"));
        Files.writeString(in.resolve("config.json"), "\uFEFF" + config); // Python reads no byte order mark
        LanguageModel model = ModelFolder.build(in);
        assertThat(model.notes()).isEmpty();
        model.initialize(3);
        ModelFolder.save(model, folder.resolve("out"));
        assertThat(folder.resolve("out/config.json")).hasContent(config);
        LanguageModel again = TinyModels.load(folder.resolve("out"));
        assertThat(TinyModels.logits(again).equal(TinyModels.logits(model))).isTrue();
        ModelFolder.save(again, folder.resolve("in"));
        assertThat(folder.resolve("in/config.json")).hasContent(config);
    }
}
