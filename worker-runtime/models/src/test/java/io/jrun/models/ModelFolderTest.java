package io.jrun.models;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.models.llama.LlamaConfig;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.RotaryScaling;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.checkpoint.SafetensorsFolder;
import io.jrun.train.json.JsonObject;
import io.jrun.train.weights.WeightFiles;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.StringJoiner;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The golden logits are of make.py in the resources: the same formulas, written by hand in Python. */
class ModelFolderTest {
    private static final double TOLERANCE = 1e-4;

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"gpt2", "bert", "llama", "llama3"})
    void logitsEqualTheOracle(String name) throws IOException {
        LanguageModel model = TinyModels.write(folder, name);
        assertThat(TinyModels.difference(TinyModels.logits(model), TinyModels.golden(name)))
                .isLessThan(TOLERANCE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpt2", "bert", "llama", "llama3"})
    void aSavedFolderHasTheSameLogitsBitForBit(String name) throws IOException {
        LanguageModel model = TinyModels.write(folder.resolve("in"), name);
        ModelFolder.save(model, folder.resolve("out"));
        LanguageModel again = TinyModels.load(folder.resolve("out"));
        assertThat(TinyModels.logits(again).equal(TinyModels.logits(model))).isTrue();
        assertThat(Safetensors.read(folder.resolve("out/model.safetensors")).tensors())
                .containsOnlyKeys(TinyModels.tensors(model).keySet());
    }

    /**
     * Hugging Face's and Meta's rows of one model: row r of half h is row 2r + h. The rotation makes the same logits of
     * both.
     */
    @Test
    void metasFilesAreReadWithInterleavedPairsAndSavedAsHuggingFaces() throws IOException {
        Path meta = TinyModels.writeMeta(folder);
        LanguageModel model = TinyModels.load(meta);
        assertThat(TinyModels.difference(TinyModels.logits(model), TinyModels.golden("llama")))
                .isLessThan(TOLERANCE);
        ModelFolder.save(model, folder.resolve("saved"));
        Map<String, Tensor> saved =
                Safetensors.read(folder.resolve("saved/model.safetensors")).tensors();
        assertThat(saved).hasSameSizeAs(TinyModels.tensors(model));
        TinyModels.tensors(model)
                .forEach((name, tensor) -> assertThat(
                                Objects.requireNonNull(saved.get(name)).equal(tensor))
                        .as(name)
                        .isTrue());
        assertThat(TinyModels.difference(
                        TinyModels.logits(TinyModels.load(folder.resolve("saved"))), TinyModels.golden("llama")))
                .isLessThan(TOLERANCE);
    }

    @Test
    void theTwoRotationsDiffer() throws IOException {
        LanguageModel model = TinyModels.write(folder.resolve("hf"), "llama");
        Map<String, Tensor> sameRows = new LinkedHashMap<>();
        TinyModels.tensors(model).forEach((name, tensor) -> sameRows.put(TinyModels.metaName(name), tensor));
        Path metaFolder = Files.createDirectories(folder.resolve("meta"));
        Files.writeString(
                metaFolder.resolve("params.json"),
                "{\"dim\": 24, \"n_layers\": 2, \"n_heads\": 6, \"n_kv_heads\": 2, \"norm_eps\": 1e-05}");
        Safetensors.write(metaFolder.resolve("model.safetensors"), sameRows, Map.of());
        Tensor logits = TinyModels.logits(TinyModels.load(metaFolder));
        assertThat(TinyModels.difference(logits, TinyModels.golden("llama-meta")))
                .isLessThan(TOLERANCE);
        assertThat(TinyModels.difference(logits, TinyModels.golden("llama"))).isGreaterThan(0.1);
    }

    @Test
    void oldNamesAndTensorsOfOtherHeadsAreAccepted() throws IOException {
        LanguageModel bert = TinyModels.describe(folder, "bert");
        Map<String, Tensor> old = new LinkedHashMap<>();
        TinyModels.tensors(bert)
                .forEach((name, tensor) -> old.put(
                        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"),
                        tensor));
        old.put("bert.embeddings.position_ids", torch.zeros(1, 16));
        old.put("bert.pooler.dense.weight", torch.zeros(24, 24));
        old.put("cls.seq_relationship.weight", torch.zeros(2, 24));
        old.put("cls.predictions.decoder.weight", torch.zeros(61, 24));
        Safetensors.write(folder.resolve("model.safetensors"), old, Map.of());
        assertThat(TinyModels.difference(TinyModels.logits(TinyModels.load(folder)), TinyModels.golden("bert")))
                .isLessThan(TOLERANCE);

        old.keySet().removeIf(name -> name.startsWith("cls."));
        Safetensors.write(folder.resolve("model.safetensors"), old, Map.of());
        assertThatThrownBy(() -> TinyModels.load(folder))
                .hasMessage(folder + " lacks [cls.predictions.bias, cls.predictions.transform.LayerNorm.bias,"
                        + " cls.predictions.transform.LayerNorm.weight, cls.predictions.transform.dense.bias,"
                        + " cls.predictions.transform.dense.weight], and the rest of its tensors fits. The file is of a"
                        + " part of the model, such as a BERT without the head for masked tokens (BertModel). Save the"
                        + " whole model (BertForMaskedLM), or check config.json.");

        Path gptFolder = folder.resolve("gpt2");
        LanguageModel gpt2 = TinyModels.describe(gptFolder, "gpt2");
        Map<String, Tensor> bare = new LinkedHashMap<>();
        TinyModels.tensors(gpt2).forEach((name, tensor) -> bare.put(name.replace("transformer.", ""), tensor));
        bare.put("h.0.attn.bias", torch.ones(1, 1, 16, 16));
        bare.put("lm_head.weight", torch.zeros(61, 24));
        SafetensorsFolder.write(gptFolder, bare, Map.of(), 1 << 20);
        assertThat(TinyModels.difference(TinyModels.logits(TinyModels.load(gptFolder)), TinyModels.golden("gpt2")))
                .isLessThan(TOLERANCE);
    }

    /** A file of torch.save with the names and the additional tensors of bert-base-uncased, made by make.py. */
    @Test
    void aTorchFileOfBertIsReadByItself() throws IOException {
        TinyModels.describe(folder, "bert");
        Path file = folder.resolve("bert-uncased.pth");
        try (InputStream in = Objects.requireNonNull(getClass().getResourceAsStream("bert-uncased.pth"))) {
            Files.copy(in, file);
        }
        assertThat(TinyModels.difference(TinyModels.logits(TinyModels.load(file)), TinyModels.golden("bert")))
                .isLessThan(TOLERANCE);
        Path sharded = Files.createDirectories(folder.resolve("sharded"));
        Files.copy(folder.resolve("config.json"), sharded.resolve("config.json"));
        Files.move(file, sharded.resolve("pytorch_model-00001-of-00001.bin"));
        StringJoiner map = new StringJoiner(", ");
        for (String name : WeightFiles.open(sharded.resolve("pytorch_model-00001-of-00001.bin"))
                .names()) {
            map.add("\"" + name + "\": \"pytorch_model-00001-of-00001.bin\"");
        }
        Files.writeString(sharded.resolve("pytorch_model.bin.index.json"), "{\"weight_map\": {" + map + "}}");
        assertThat(TinyModels.difference(TinyModels.logits(TinyModels.load(sharded)), TinyModels.golden("bert")))
                .isLessThan(TOLERANCE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"module.", "state_dict.", "model_state_dict.module."})
    void theStateOfAWrappedModuleIsRead(String prefix) throws IOException {
        LanguageModel model = TinyModels.describe(folder, "llama");
        Map<String, Tensor> wrapped = new LinkedHashMap<>();
        TinyModels.tensors(model).forEach((name, tensor) -> wrapped.put(prefix + name, tensor));
        SafetensorsFolder.write(folder, wrapped, Map.of(), 1 << 20);
        assertThat(TinyModels.difference(TinyModels.logits(TinyModels.load(folder)), TinyModels.golden("llama")))
                .isLessThan(TOLERANCE);
    }

    @Test
    void scaledRotationIsReadInAllThreeForms() throws IOException {
        Path path = folder.resolve("config.json");
        TinyModels.write(folder, "llama3");
        Files.writeString(
                path,
                Files.readString(path)
                        .replace("rope_scaling", "rope_parameters")
                        .replace("\"factor\"", "\"rope_theta\": 10000.0, \"factor\""));
        assertThat(TinyModels.difference(TinyModels.logits(TinyModels.load(folder)), TinyModels.golden("llama3")))
                .isLessThan(TOLERANCE);
        JsonObject meta = JsonObject.parse(
                "params.json",
                "{\"dim\": 8, \"n_layers\": 1, \"n_heads\": 1, \"use_scaled_rope\": true, \"rope_scaling_factor\": 32}");
        assertThat(LlamaConfig.ofMeta(meta, 10, 8).scaling()).hasValue(new RotaryScaling(32, 1, 4, 8192));
        Files.writeString(path, Files.readString(path).replace("\"factor\": 8.0", "\"factor\": 1.0"));
        assertThat(TinyModels.difference(TinyModels.logits(TinyModels.load(folder)), TinyModels.golden("llama3")))
                .as("without the scaling")
                .isGreaterThan(0.01);
    }

    @Test
    void halfPrecisionWeightsAreConverted() throws IOException {
        LanguageModel model = TinyModels.describe(folder, "gpt2");
        Map<String, Tensor> half = new LinkedHashMap<>();
        TinyModels.tensors(model).forEach((name, tensor) -> half.put(name, tensor.to(ScalarType.BFloat16)));
        SafetensorsFolder.write(folder, half, Map.of(), 1 << 20);
        Tensor logits = TinyModels.logits(TinyModels.load(folder));
        assertThat(logits.scalar_type().intern()).isEqualTo(ScalarType.Float);
        assertThat(TinyModels.difference(logits, TinyModels.golden("gpt2"))).isBetween(1e-4, 0.3);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"model_type\": \"t5\"}            | config.json has the model_type 't5'; jrun has bert, gpt2 and llama",
                "{\"model_type\": \"gpt2\"}          | config.json lacks 'n_embd'",
                "{\"model_type\": \"gpt2\", \"n_embd\": 5, \"vocab_size\": 1, \"n_layer\": 1, \"n_head\": 2} | not a multiple",
                "{\"model_type\": \"bert\", \"hidden_act\": \"relu\"} | hidden_act relu",
                "{\"model_type\": \"llama\", \"rope_scaling\": {\"type\": \"yarn\"}} | rope_scaling of the type 'yarn'; jrun's"
                        + " Llama has default and llama3",
                "{\"model_type\": \"llama\", \"rope_scaling\": {\"rope_type\": \"llama3\"}} | rope_scaling lacks 'factor'",
                "{\"model_type\": \"llama\", \"rope_parameters\": {\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 4,"
                        + " \"high_freq_factor\": 1, \"original_max_position_embeddings\": 8192}}"
                        + " | expected numbers above 0 and low_freq_factor below high_freq_factor",
                "{\"model_type\": \"gpt2\", \"n_embd\": 8, \"vocab_size\": 9, \"n_layer\": 1, \"n_head\": 0}"
                        + " | 'n_head' is 0, expected a whole number from 1 to 2147483647",
                "{\"model_type\": \"gpt2\", \"n_embd\": 8, \"vocab_size\": -5, \"n_layer\": 1, \"n_head\": 2}"
                        + " | 'vocab_size' is -5, expected",
                "{\"model_type\": \"gpt2\", \"n_embd\": 8, \"vocab_size\": 9, \"n_layer\": 999999, \"n_head\": 2}"
                        + " | 'n_layer' is 999999, expected a whole number from 1 to 4096",
                "{\"model_type\": \"gpt2\", \"n_embd\": 2000000000, \"vocab_size\": 2000000000, \"n_layer\": 1, \"n_head\": 2}"
                        + " | cannot build the model in",
                "{\"model_type\": \"llama\", \"hidden_size\": 2, \"num_attention_heads\": 4, \"vocab_size\": 9,"
                        + " \"num_hidden_layers\": 1, \"intermediate_size\": 4} | hidden_size 2 is less than"
            })
    void aConfigurationThatJrunLacksIsOneLine(String config, String message) throws IOException {
        Files.writeString(folder.resolve("config.json"), config);
        assertThatThrownBy(() -> ModelFolder.build(folder))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(message)
                .hasMessageNotContaining("\n");
    }

    @Test
    void aFolderWithoutConfigurationSaysWhatToDo() {
        assertThatThrownBy(() -> ModelFolder.build(folder))
                .hasMessageContaining("has neither config.json (Hugging Face) nor params.json (Meta)");
        assertThatThrownBy(() -> ModelFolder.build(folder.resolve("none")))
                .hasMessageStartingWith(folder.resolve("none") + " does not exist.");
    }

    @Test
    void equalSeedsInitializeEqually() throws IOException {
        LanguageModel first = TinyModels.describe(folder, "llama");
        LanguageModel second = ModelFolder.build(folder);
        first.initialize(7);
        second.initialize(7);
        assertThat(TinyModels.logits(first).equal(TinyModels.logits(second))).isTrue();
        second.initialize(8);
        assertThat(TinyModels.logits(first).equal(TinyModels.logits(second))).isFalse();
        assertThat(TinyModels.logits(first).isfinite().all().item_bool()).isTrue();
    }
}
