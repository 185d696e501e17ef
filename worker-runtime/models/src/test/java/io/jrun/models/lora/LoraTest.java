package io.jrun.models.lora;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.models.ModelFolder;
import io.jrun.models.TinyModels;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.Projection;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class LoraTest {
    @TempDir
    private Path folder;

    static Stream<Arguments> models() {
        return Stream.of(
                Arguments.of("llama", List.of("q_proj", "v_proj")), Arguments.of("gpt2", List.of("c_attn", "c_fc")));
    }

    private static LoraOptions options(List<String> targets) {
        return new LoraOptions(3, 6, targets, 1);
    }

    @ParameterizedTest
    @MethodSource("models")
    void anAdapterChangesNothingUntilItIsTrained(String name, List<String> targets) throws IOException {
        LanguageModel model = TinyModels.write(folder, name);
        Tensor before = TinyModels.logits(model);
        Lora lora = Lora.attach(model, options(targets));
        assertThat(TinyModels.logits(model).equal(before)).isTrue();
        assertThat(lora.parameters()).hasSize(8);
        ModuleTensors.parameters(model)
                .forEach((parameter, tensor) ->
                        assertThat(tensor.requires_grad()).as(parameter).isEqualTo(parameter.contains(".lora_")));
    }

    @ParameterizedTest
    @MethodSource("models")
    void mergedUnmergedAndReloadedAdaptersGiveTheSameLogits(String name, List<String> targets) throws IOException {
        LanguageModel model = TinyModels.write(folder, name);
        Tensor untrained = TinyModels.logits(model);
        Map<String, Tensor> base = TinyModels.tensors(model);
        Lora lora = Lora.attach(model, options(targets));
        train(model, lora, 5);
        Tensor trained = TinyModels.logits(model);
        assertThat(TinyModels.difference(trained, untrained)).isGreaterThan(0.01);

        lora.merge();
        lora.merge(); // changes nothing
        assertThat(TinyModels.difference(TinyModels.logits(model), trained)).isLessThan(1e-4);
        ModelFolder.save(model, folder.resolve("merged"));
        assertThat(TinyModels.difference(TinyModels.logits(TinyModels.load(folder.resolve("merged"))), trained))
                .isLessThan(1e-4);

        lora.unmerge();
        lora.unmerge(); // changes nothing
        assertThat(TinyModels.difference(TinyModels.logits(model), trained)).isLessThan(1e-4);
        base.forEach((parameter, tensor) -> assertThat(TinyModels.difference(
                        Objects.requireNonNull(ModuleTensors.all(model).get(parameter)), tensor))
                .as(parameter)
                .isLessThan(1e-6));

        lora.save(folder.resolve("adapter"));
        LanguageModel fresh = TinyModels.load(folder);
        Lora _ = Lora.open(fresh, folder.resolve("adapter"));
        assertThat(TinyModels.difference(TinyModels.logits(fresh), trained)).isLessThan(1e-4);
        assertThat(Safetensors.read(folder.resolve("adapter/adapter_model.safetensors"))
                        .tensors()
                        .keySet())
                .allMatch(key -> key.startsWith("base_model.model.") && key.matches(".*\\.lora_[AB]\\.weight"));
    }

    /** Two ranks with a text each equal one process with both texts. */
    @Test
    void adaptersTrainUnderDdpAsInOneProcess() throws IOException {
        LanguageModel serial = TinyModels.write(folder, "llama");
        Lora lora = Lora.attach(serial, options(List.of("q_proj", "v_proj")));
        AdamW optimizer = new AdamW(lora.trained(), new AdamWOptions(1e-2));
        for (int step = 0; step < 5; step++) {
            optimizer.zero_grad();
            serial.loss(texts(), next()).backward();
            optimizer.step();
        }
        LocalWorld.run(2, world -> {
            LanguageModel model = TinyModels.load(folder);
            Lora own = Lora.attach(model, options(List.of("q_proj", "v_proj")));
            try (var ddp = new DistributedDataParallel<>(model, world.group())) {
                AdamW adam = new AdamW(own.trained(), new AdamWOptions(1e-2));
                for (int i = 0; i < 5; i++) {
                    try (Step step = ddp.step()) {
                        adam.zero_grad();
                        step.backward(
                                model.loss(texts().narrow(0, world.rank(), 1), next().narrow(0, world.rank(), 1)));
                        adam.step();
                    }
                }
                own.parameters()
                        .forEach((name, tensor) -> assertThat(TinyModels.difference(
                                        tensor,
                                        Objects.requireNonNull(lora.parameters().get(name))))
                                .as(name)
                                .isLessThan(1e-5));
                assertThat(ddp.buckets().stream().flatMap(List::stream)).allMatch(name -> name.contains(".lora_"));
            }
        });
    }

    @Test
    void adaptersOfOtherProjectionsAreRefused() throws IOException {
        LanguageModel model = TinyModels.write(folder, "llama");
        Lora.attach(model, options(List.of("q_proj"))).save(folder.resolve("adapter"));
        LanguageModel other = TinyModels.load(folder);
        Lora lora = Lora.attach(other, options(List.of("v_proj")));
        assertThatThrownBy(() -> lora.load(folder.resolve("adapter")))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("has adapters for other projections");
        assertThatThrownBy(() -> Lora.attach(TinyModels.load(folder), options(List.of("x"))))
                .hasMessage("the model has no projection named [x]. Its projections are [down_proj, gate_proj, k_proj,"
                        + " lm_head, o_proj, q_proj, up_proj, v_proj].");
        assertThatThrownBy(() -> Lora.attach(TinyModels.load(folder), options(List.of("q_proj", "v_prj"))))
                .hasMessageStartingWith("the model has no projection named [v_prj].");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"peft_type\": \"IA3\"}                                | has the peft_type 'IA3'; jrun has LORA",
                "{\"peft_type\": \"LORA\"}                               | lacks 'r'",
                "{\"peft_type\": \"LORA\", \"r\": 0}                     | 'r' has the rank 0, expected 1 to 65536",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"use_dora\": true} | 'use_dora' is true; jrun's LoRA supports false",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"rank_pattern\": {\"q_proj\": -2}} | 'q_proj' has the rank -2",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"modules_to_save\": [\"head\"]}  | 'modules_to_save' is present",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"bias\": \"all\"} | 'bias' is 'all'; jrun's LoRA supports 'none'",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"lora_bias\": true}               | 'lora_bias' is true",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"trainable_token_indices\": [1]}  | 'trainable_token_indices' is",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"init_lora_weights\": \"pissa\"}   | 'init_lora_weights' is 'pissa', which",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"init_lora_weights\": 3}           | 'init_lora_weights' is 3, expected",
                "{\"peft_type\": \"LORA\", \"r\": 99999999}             | 'r' has the rank 99999999, expected 1 to 65536",
                "{\"peft_type\": \"LORA\", \"r\": 4}                    | lacks 'target_modules'",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": \"(.*)(.*)(.*)(.*)(.*)(.*)(.*)!\"} | takes too long",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": \"(\"}        | the expression '(' is malformed",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"x\"]}      | the model has no projection named by"
            })
    void adaptersThatJrunLacksAreOneLine(String config, String message) throws IOException {
        TinyModels.write(folder, "llama");
        Path adapters = Files.createDirectories(folder.resolve("adapter"));
        Files.writeString(adapters.resolve("adapter_config.json"), config);
        assertThatThrownBy(() -> Lora.open(TinyModels.load(folder), adapters))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(message)
                .hasMessageNotContaining("\n");
    }

    /**
     * The golden logits are of make.py: {@code y + alpha / rank * B A x} for each adapted projection, with the rank and
     * the alpha of the projection. A is [rank, inputs], B is [outputs, rank].
     */
    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            quoteCharacter = '`',
            value = {
                "llama-adapters ~ 'target_modules': '.*\\\\.(0\\\\.self_attn\\\\.[qv]_proj|0\\\\.mlp\\\\.down_proj|1\\\\.self_attn\\\\.[qo]_proj)',"
                        + " 'exclude_modules': ['v_proj'], 'rank_pattern': {'o_proj': 2},"
                        + " 'alpha_pattern': {'model.layers.1.self_attn.o_proj': 7}",
                "llama-stabilized ~ 'target_modules': ['self_attn.q_proj', 'k_proj'], 'use_rslora': true,"
                        + " 'layers_to_transform': [1, 5], 'layers_pattern': 'layers'"
            })
    void adaptersOfPeftGiveTheLogitsOfTheOracle(String golden, String fields) throws IOException {
        LanguageModel model = TinyModels.write(folder, "llama");
        Path adapters = Files.createDirectories(folder.resolve("adapter"));
        String config = ("{'peft_type': 'LORA', 'r': 3, 'lora_alpha': 5, 'lora_dropout': 0.05, 'inference_mode': true, "
                        + fields + ", 'init_lora_weights': 'gaussian', 'bias': 'none', 'use_dora': false}")
                .replace('\'', '"');
        Files.writeString(adapters.resolve("adapter_config.json"), config);
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        boolean isStabilized = golden.equals("llama-stabilized");
        if (isStabilized) {
            put(tensors, "model.layers.1.self_attn.q_proj", 3, 24, 24);
            put(tensors, "model.layers.1.self_attn.k_proj", 3, 24, 8);
        } else {
            put(tensors, "model.layers.0.self_attn.q_proj", 3, 24, 24);
            put(tensors, "model.layers.0.mlp.down_proj", 3, 40, 24);
            put(tensors, "model.layers.1.self_attn.q_proj", 3, 24, 24);
            put(tensors, "model.layers.1.self_attn.o_proj", 2, 24, 24);
        }
        Safetensors.write(adapters.resolve("adapter_model.safetensors"), tensors, Map.of());
        Lora lora = Lora.open(model, adapters);
        assertThat(TinyModels.difference(TinyModels.logits(model), TinyModels.golden(golden)))
                .isLessThan(1e-4);
        assertThat(lora.notes()).isEmpty();
        lora.save(folder.resolve("adapter"));
        assertThat(adapters.resolve("adapter_config.json")).hasContent(config);
        lora.merge();
        assertThat(TinyModels.difference(TinyModels.logits(model), TinyModels.golden(golden)))
                .isLessThan(1e-3);
    }

    private static void put(Map<String, Tensor> tensors, String name, long rank, long inputs, long outputs) {
        String down = name + ".lora_A.weight";
        String up = name + ".lora_B.weight";
        tensors.put("base_model.model." + down, TinyModels.tensor(down, rank, inputs));
        tensors.put("base_model.model." + up, TinyModels.tensor(up, outputs, rank));
    }

    @Test
    void adaptersOfAllLinearLayersLeaveTheOutputLayerAndUnknownFieldsAreANote() throws IOException {
        TinyModels.write(folder, "llama");
        Lora own = Lora.attach(
                TinyModels.load(folder),
                options(List.of("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")));
        own.save(folder.resolve("adapter"));
        Path file = folder.resolve("adapter/adapter_config.json");
        Files.writeString(file, """
                {"peft_type": "LORA", "r": 3, "target_modules": "all-linear", "use_new": 1}""");
        Lora lora = Lora.open(TinyModels.load(folder), folder.resolve("adapter"));
        assertThat(lora.parameters()).hasSameSizeAs(own.parameters());
        assertThat(lora.notes())
                .containsExactly(file + " has fields that jrun's LoRA does not know and does not use: use_new");
    }

    /** The models have output layers with matrices of their own. */
    @ParameterizedTest
    @CsvSource({"llama, 14", "gpt2, 8", "bert, 13"})
    void allLinearAreAllProjectionsButTheOutputLayer(String name, int count) throws IOException {
        LanguageModel model = TinyModels.describe(folder, name, "\"tie_word_embeddings\": false");
        model.initialize(1);
        Tensor before = TinyModels.logits(model);
        Lora lora = Lora.attach(model, options(List.of("all-linear")));
        assertThat(TinyModels.logits(model).equal(before)).isTrue();
        Map<String, Projection> others = model.descendants(Projection.class);
        assertThat(others.remove(model.outputLayer())).as("the output layer").isNotNull();
        assertThat(others)
                .hasSize(count)
                .allSatisfy((projection, map) ->
                        assertThat(map.adapter()).as(projection).isPresent());
        assertThat(lora.parameters()).hasSize(2 * count);

        lora.save(folder.resolve("adapter"));
        Path file = folder.resolve("adapter/adapter_config.json");
        assertThat(file).content().contains("\"target_modules\": [").doesNotContain("all-linear");
        assertThat(Lora.open(ModelFolder.build(folder), folder.resolve("adapter"))
                        .parameters())
                .hasSize(2 * count);
        Files.writeString(file, """
                {"peft_type": "LORA", "r": 3, "target_modules": "All-Linear"}""");
        assertThat(Lora.open(ModelFolder.build(folder), folder.resolve("adapter"))
                        .parameters())
                .hasSize(2 * count);
    }

    /** The adapters of a model of Meta's files fit the Hugging Face folder that the model is saved as. */
    @Test
    void adaptersOfMetasRowsAreSavedInTheOrderOfHuggingFace() throws IOException {
        Path meta = TinyModels.writeMeta(folder);
        LanguageModel model = TinyModels.load(meta);
        ModelFolder.save(model, folder.resolve("saved"));
        Lora lora = Lora.attach(model, options(List.of("q_proj", "k_proj")));
        train(model, lora, 5);
        lora.save(folder.resolve("adapter"));
        for (Path base : List.of(meta, folder.resolve("saved"))) {
            LanguageModel again = TinyModels.load(base);
            Lora _ = Lora.open(again, folder.resolve("adapter"));
            assertThat(TinyModels.difference(TinyModels.logits(again), TinyModels.logits(model)))
                    .as(base.toString())
                    .isLessThan(1e-4);
        }
    }

    private static void train(LanguageModel model, Lora lora, int steps) {
        AdamW optimizer = new AdamW(lora.trained(), new AdamWOptions(1e-2));
        for (int i = 0; i < steps; i++) {
            optimizer.zero_grad();
            model.loss(texts(), next()).backward();
            optimizer.step();
        }
    }

    private static Tensor texts() {
        return Tensor.create(new long[] {1, 2, 3, 4, 9, 8, 7, 6}, 2, 4);
    }

    private static Tensor next() {
        return Tensor.create(new long[] {2, 3, 4, 5, 8, 7, 6, 5}, 2, 4);
    }
}
