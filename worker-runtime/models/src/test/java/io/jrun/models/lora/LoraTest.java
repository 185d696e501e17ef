package io.jrun.models.lora;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.models.ModelFolder;
import io.jrun.models.TinyModels;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.ddp.Step;
import io.jrun.train.tensor.ModuleTensors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
                "{\"peft_type\": \"LORA\", \"r\": 0}                     | the rank of adapters is 0",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"use_dora\": true} | asks for use_dora, which jrun lacks",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"alpha_pattern\": {\"q_proj\": 2}} | asks for alpha_pattern",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"modules_to_save\": [\"head\"]}  | asks for modules_to_save",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"bias\": \"all\"}                | asks for trained biases",
                "{\"peft_type\": \"LORA\", \"r\": 99999999}             | has the rank 99999999, expected at most 65536",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": \"all-linear\"} | expected a list of strings",
                "{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"x\"]}  | the model has no projection named [x]"
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
