package io.jrun.models;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.comm.local.LocalWorld;
import io.jrun.models.llama.Llama;
import io.jrun.models.llama.LlamaConfig;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.RotaryScaling;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.checkpoint.SafetensorsFolder;
import io.jrun.train.json.JsonObject;
import io.jrun.train.weights.WeightFiles;
import io.jrun.train.weights.WeightLoader;
import io.jrun.train.weights.WeightReaders;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.StringJoiner;
import org.bytedeco.pytorch.Scalar;
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

    /** The saved folder, and the configuration that jrun writes by itself, have the fields too. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "gpt2  | 'scale_attn_weights': false                                             | gpt2-unscaled",
                "gpt2  | 'scale_attn_by_inverse_layer_idx': true, 'activation_function': 'relu'  | gpt2-by-layer",
                "gpt2  | 'tie_word_embeddings': false                                            | gpt2-untied",
                "bert  | 'tie_word_embeddings': false, 'hidden_act': 'gelu_pytorch_tanh'         | bert-untied",
                "llama | 'mlp_bias': true, 'hidden_act': 'relu2', 'rope_scaling': {'type': 'linear', 'factor': 4}"
                        + " | llama-fields",
                "llama | 'tie_word_embeddings': true                                             | llama-tied"
            },
            quoteCharacter = '`')
    void fieldsOfTheConfigurationChangeTheLogitsAsInTheOracle(String name, String fields, String golden)
            throws IOException {
        LanguageModel described = TinyModels.describe(folder, name, fields.replace('\'', '"'));
        SafetensorsFolder.write(folder, TinyModels.tensors(described), Map.of(), 1 << 20);
        LanguageModel model = TinyModels.load(folder);
        assertThat(TinyModels.difference(TinyModels.logits(model), TinyModels.golden(golden)))
                .isLessThan(TOLERANCE);
        assertThat(model.notes()).isEmpty();
        ModelFolder.save(model, folder.resolve("saved"));
        for (String config : List.of(model.givenConfigJson().orElseThrow(), model.configJson())) {
            Files.writeString(folder.resolve("saved/config.json"), config);
            LanguageModel again = TinyModels.load(folder.resolve("saved"));
            assertThat(TinyModels.logits(again).equal(TinyModels.logits(model)))
                    .as(config)
                    .isTrue();
        }
    }

    @Test
    void unknownFieldsAreOneNoteAndKnownFieldsAreNone() throws IOException {
        LanguageModel model = TinyModels.describe(
                folder,
                "gpt2",
                "\"resid_pdrop\": 0.1, \"top_k\": 50, \"hidden_size\": 24, \"attention_multiplier\": 2, \"z\": null,"
                        + " \"auto_map\": {}");
        assertThat(model.notes())
                .containsExactly("config.json has fields that jrun's GPT-2 does not know and does not use:"
                        + " attention_multiplier, auto_map");
    }

    /** The files decide: one of two names, both names with one matrix, and both names with two matrices. */
    @ParameterizedTest
    @CsvSource({
        "gpt2, transformer.wte.weight, lm_head.weight",
        "bert, bert.embeddings.word_embeddings.weight, cls.predictions.decoder.weight",
        "bert, cls.predictions.bias, cls.predictions.decoder.bias"
    })
    void tiedTensorsAreReadUnderEitherName(String name, String own, String other) throws IOException {
        Map<String, Tensor> tensors = TinyModels.tensors(TinyModels.describe(folder, name));
        Tensor matrix = Objects.requireNonNull(tensors.remove(own));
        tensors.put(other, matrix);
        for (boolean isTwice : new boolean[] {false, true}) {
            SafetensorsFolder.write(folder, tensors, Map.of(), 1 << 20);
            LanguageModel model = TinyModels.load(folder);
            assertThat(TinyModels.difference(TinyModels.logits(model), TinyModels.golden(name)))
                    .as("twice: %s", isTwice)
                    .isLessThan(TOLERANCE);
            assertThat(TinyModels.tensors(model)).doesNotContainKey(other);
            tensors.put(own, matrix.clone());
        }
    }

    @ParameterizedTest
    @CsvSource({"gpt2, lm_head.weight, gpt2-untied", "bert, cls.predictions.decoder.weight, bert-untied"})
    void twoDifferentMatricesAreUntied(String name, String other, String golden) throws IOException {
        String fields = name.equals("bert") ? "\"hidden_act\": \"gelu_new\"" : "";
        LanguageModel described = TinyModels.describe(folder, name, fields);
        Map<String, Tensor> tensors = TinyModels.tensors(described);
        tensors.put(other, TinyModels.tensor(other, 61, 24));
        SafetensorsFolder.write(folder, tensors, Map.of(), 1 << 20);
        LocalWorld.run(2, world -> {
            LanguageModel model = ModelFolder.build(folder);
            WeightLoader.load(model, folder, model.mapping(), world, WeightReaders.RANK_0);
            assertThat(TinyModels.difference(TinyModels.logits(model), TinyModels.golden(golden)))
                    .isLessThan(TOLERANCE);
            if (world.rank() == 0) {
                ModelFolder.save(model, folder.resolve("saved"));
            }
        });
        assertThat(folder.resolve("saved/config.json")).content().contains("\"tie_word_embeddings\": false");
        assertThat(TinyModels.difference(
                        TinyModels.logits(TinyModels.load(folder.resolve("saved"))), TinyModels.golden(golden)))
                .isLessThan(TOLERANCE);
    }

    @Test
    void twoDifferentTensorsThatNoModelHasAreRefused() throws IOException {
        Map<String, Tensor> tensors = TinyModels.tensors(TinyModels.describe(folder, "bert"));
        tensors.put("cls.predictions.decoder.bias", torch.zeros(61));
        SafetensorsFolder.write(folder, tensors, Map.of(), 1 << 20);
        assertThatThrownBy(() -> TinyModels.load(folder))
                .hasMessage(folder + ": the model has one tensor for 'cls.predictions.decoder.bias' and"
                        + " 'cls.predictions.bias', but the file has two different tensors");
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

    /** Three heads of eight rows: row i of half h in a file of Hugging Face is row 2i + h of Meta's head. */
    @Test
    void rowsOfMetasHeadsAreSavedInTheOrderOfHuggingFace() {
        JsonObject meta = JsonObject.parse("params.json", "{\"dim\": 24, \"n_layers\": 1, \"n_heads\": 3}");
        LanguageModel model = new Llama(LlamaConfig.ofMeta(meta, 10, 8), Device.CPU);
        model.build();
        String name = "model.layers.0.self_attn.q_proj.weight";
        Tensor rows = torch.arange(new Scalar(24L)).view(24, 1);
        Tensor inFile = model.toFileOrder(name, rows);
        for (long row = 0; row < 24; row++) {
            long inHead = row % 8;
            assertThat(inFile.select(0, row).item_long())
                    .as("row %d", row)
                    .isEqualTo(row - inHead + inHead % 4 * 2 + inHead / 4);
        }
        assertThat(model.fromFileOrder(name, inFile).equal(rows)).isTrue();
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
        old.put("cls.predictions.decoder.weight", TinyModels.tensor("bert.embeddings.word_embeddings.weight", 61, 24));
        old.put("classifier.weight", torch.zeros(2, 24));
        Safetensors.write(folder.resolve("model.safetensors"), old, Map.of());
        assertThat(TinyModels.difference(TinyModels.logits(TinyModels.load(folder)), TinyModels.golden("bert")))
                .isLessThan(TOLERANCE);

        old.keySet().removeIf(name -> name.startsWith("cl"));
        Safetensors.write(folder.resolve("model.safetensors"), old, Map.of());
        assertThatThrownBy(() -> TinyModels.load(folder))
                .hasMessage(folder + " lacks [cls.predictions.bias, cls.predictions.transform.LayerNorm.bias,"
                        + " cls.predictions.transform.LayerNorm.weight, cls.predictions.transform.dense.bias,"
                        + " cls.predictions.transform.dense.weight], and the rest of its tensors fits. The file is of a"
                        + " part of the model, such as a BERT without the head for masked tokens (BertModel). Save the"
                        + " whole model (BertForMaskedLM), or check config.json, such as tie_word_embeddings.");

        Path gptFolder = folder.resolve("gpt2");
        LanguageModel gpt2 = TinyModels.describe(gptFolder, "gpt2");
        Map<String, Tensor> bare = new LinkedHashMap<>();
        TinyModels.tensors(gpt2).forEach((name, tensor) -> bare.put(name.replace("transformer.", ""), tensor));
        bare.put("h.0.attn.bias", torch.ones(1, 1, 16, 16));
        bare.put("lm_head.weight", TinyModels.tensor("transformer.wte.weight", 61, 24));
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

    /** The words of wrappers and training loops before and inside of the names, with an optimizer beside. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "module.",
                "state_dict.",
                "model.",
                "model_state_dict.module.",
                "_orig_mod.module.",
                "module._orig_mod.",
                "model._orig_mod.",
                "state_dict.model.",
                "generator.net.",
                "_fsdp_wrapped_module."
            })
    void theStateOfAWrappedModuleIsRead(String prefix) throws IOException {
        for (String name : List.of("llama", "gpt2")) {
            Path model = folder.resolve(name);
            Map<String, Tensor> wrapped = new LinkedHashMap<>();
            TinyModels.tensors(TinyModels.describe(model, name))
                    .forEach((own, tensor) -> wrapped.put(
                            prefix
                                    + own.replace("layers.0.", "layers.0._fsdp_wrapped_module.")
                                            .replace(".mlp.", "._checkpoint_wrapped_module.mlp."),
                            tensor));
            wrapped.put("optimizer.state.0.exp_avg", torch.zeros(3));
            wrapped.put("step", torch.zeros(1));
            SafetensorsFolder.write(model, wrapped, Map.of(), 1 << 20);
            assertThat(TinyModels.difference(TinyModels.logits(TinyModels.load(model)), TinyModels.golden(name)))
                    .isLessThan(TOLERANCE);
        }
    }

    @Test
    void oneOfSeveralSectionsHasTheUsualKeyOrTheFileIsRefused() throws IOException {
        Map<String, Tensor> tensors = TinyModels.tensors(TinyModels.describe(folder, "gpt2"));
        Map<String, Tensor> sections = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> sections.put("ema." + name, torch.zeros_like(tensor)));
        tensors.forEach((name, tensor) -> sections.put("model." + name, tensor));
        SafetensorsFolder.write(folder, sections, Map.of(), 1 << 20);
        assertThat(TinyModels.difference(TinyModels.logits(TinyModels.load(folder)), TinyModels.golden("gpt2")))
                .isLessThan(TOLERANCE);
        tensors.forEach((name, tensor) -> sections.put("net." + name, tensor));
        sections.keySet().removeIf(name -> name.startsWith("model."));
        SafetensorsFolder.write(folder, sections, Map.of(), 1 << 20);
        assertThatThrownBy(() -> TinyModels.load(folder))
                .hasMessage(folder + " has the weights of the model several times: under ema., net.. Save one of them"
                        + " alone.");
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
        assertThat(LlamaConfig.ofMeta(meta, 10, 8).scaling()).hasValue(new RotaryScaling.Llama3(32, 1, 4, 8192));
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
                "{\"model_type\": \"bert\", \"position_embedding_type\": \"relative_key\"} | 'position_embedding_type' is"
                        + " 'relative_key'; jrun's BERT supports 'absolute'",
                "{\"model_type\": \"bert\", \"is_decoder\": true} | 'is_decoder' is true; jrun's BERT supports false",
                "{\"model_type\": \"gpt2\", \"add_cross_attention\": true} | 'add_cross_attention' is true; jrun's GPT-2",
                "{\"model_type\": \"gpt2\", \"pruned_heads\": {\"1\": [0]}} | 'pruned_heads' is present; jrun's GPT-2 supports"
                        + " no such field",
                "{\"model_type\": \"llama\", \"quantization_config\": {\"bits\": 4}} | 'quantization_config' is present;",
                "{\"model_type\": \"llama\", \"partial_rotary_factor\": 0.5} | 'partial_rotary_factor' is 0.5; jrun's Llama"
                        + " supports 1.0",
                "{\"model_type\": \"llama\", \"rope_theta\": 0} | rope_theta is 0.0, expected a number above 0",
                "{\"model_type\": \"gpt2\", \"n_embd\": 8, \"hidden_size\": 9} | 'n_embd' is 8 but 'hidden_size' is 9",
                "{\"model_type\": \"bert\", \"vocab_size\": 9, \"hidden_size\": 8, \"num_hidden_layers\": 1,"
                        + " \"num_attention_heads\": 2, \"intermediate_size\": 8, \"hidden_act\": \"mish\"} | 'hidden_act' is"
                        + " 'mish'; jrun supports gelu, gelu_python, gelu_new,",
                "{\"model_type\": \"llama\", \"rope_scaling\": {\"type\": \"yarn\"}} | rope_scaling of the type 'yarn'; jrun's"
                        + " Llama has default, linear and llama3",
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
