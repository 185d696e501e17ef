package io.jrun.examples.finetune;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.examples.options.InvalidArgumentException;
import io.jrun.models.ModelFolder;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.json.JsonObject;
import io.jrun.train.weights.WeightLoader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FinetuneTest {
    private static final String TEXT = "abcdefgh".repeat(100);

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"", "--lora=4"})
    void trainingLowersTheLossAndTheSavedWeightsHaveIt(String lora) throws IOException {
        Path model = model();
        Path data = Files.writeString(folder.resolve("text.txt"), TEXT);
        Path out = folder.resolve("out");
        double before = loss(load(model));
        List<String> args = List.of(
                "--model=" + model, "--data=" + data, "--out=" + out, "--steps=30", "--lr=0.02", "--tokenizer=bytes");
        String[] all =
                (lora.isEmpty() ? args.stream() : Stream.concat(args.stream(), Stream.of(lora))).toArray(String[]::new);
        LocalWorld.run(2, world -> Finetune.run(FinetuneOptions.parse(all).orElseThrow(), world));
        if (lora.isEmpty()) {
            assertThat(loss(load(out))).isLessThan(before / 2);
        } else {
            assertThat(out.resolve("adapter_model.safetensors")).exists();
            assertThat(out.resolve("adapter_config.json")).exists();
        }
    }

    /** The tokenizer of the folder, JSON Lines, and all parameters; the new folder can be trained again. */
    @Test
    void textIsEncodedByTheTokenizerOfTheModel() throws IOException {
        Path model = model(280);
        try (InputStream in =
                Objects.requireNonNull(getClass().getResourceAsStream("/io/jrun/examples/tokenizer.json"))) {
            Files.copy(in, model.resolve("tokenizer.json"));
        }
        Path data = Files.writeString(
                folder.resolve("chats.jsonl"), "{\"body\": \"hello world and the cat\"}\n".repeat(60));
        Path out = folder.resolve("out");
        for (Path from : List.of(model, out)) {
            String[] args = {
                "--model=" + from, "--data=" + data, "--text-field=body", "--out=" + out, "--steps=4", "--context=8"
            };
            LocalWorld.run(2, world -> Finetune.run(FinetuneOptions.parse(args).orElseThrow(), world));
            assertThat(out.resolve("tokenizer.json")).hasSameBinaryContentAs(model.resolve("tokenizer.json"));
        }
        Path small = model(256);
        String[] args = {"--model=" + small, "--data=" + data, "--text-field=body", "--tokenizer=" + model};
        assertThatThrownBy(() -> LocalWorld.run(
                        1, world -> Finetune.run(FinetuneOptions.parse(args).orElseThrow(), world)))
                .hasMessageContaining("has 280 tokens, the model has 256. Give the tokenizer of the model.");
        String[] none = {"--model=" + small, "--data=" + data};
        assertThatThrownBy(() -> LocalWorld.run(
                        1, world -> Finetune.run(FinetuneOptions.parse(none).orElseThrow(), world)))
                .hasMessageContaining("there is no tokenizer " + small.resolve("tokenizer.json"));
    }

    @Test
    void logitsAreOneJsonArray() throws IOException {
        LanguageModel model = load(model());
        String json = Finetune.logits(model, new long[] {1, 2, 3});
        assertThat(JsonObject.parse("logits", "{\"a\":" + json + "}").has("a")).isTrue();
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor expected = model.forward(Tensor.create(new long[] {1, 2, 3}, 1, 3))
                    .select(0, 0)
                    .select(0, 2);
            assertThat(json).startsWith("[" + expected.select(0, 0).item_float() + ",");
        }
        assertThat(json.chars().filter(c -> c == ',').count()).isEqualTo(255);
        assertThatThrownBy(() -> Finetune.logits(model, new long[] {256}))
                .hasMessage("--print-logits has 1 tokens from 256 to 256; the model takes 32 tokens from 0 to 255");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--steps=3                       | --model=PATH is missing. See --help.",
                "--model=x                       | give --data=PATH to train, or --print-logits=T,T,... to print logits",
                "--modle=x                       | unknown option '--modle=x'. Did you mean '--model'?",
                "--model                         | --model needs a value",
                "--model=x --data=y --lora=0     | --lora is '0', expected a whole number of at least 1",
                "--model=x --data=y --lr=-1      | --lr is '-1', expected a number above 0",
                "--model=x --print-logits=1,a    | --print-logits is '1,a', expected whole numbers with commas between",
                "--model=x --data=y --read=all   | --read is 'all', expected one of every-rank, one-per-node, rank-0"
            })
    void unusableArgumentsAreOneLine(String args, String message) {
        assertThatThrownBy(() -> FinetuneOptions.parse(args.split(" ", -1)))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessage(message);
    }

    private Path model() throws IOException {
        return model(256);
    }

    private Path model(int vocabulary) throws IOException {
        Path described = Files.createDirectories(folder.resolve("described"));
        Files.writeString(described.resolve("config.json"), """
                {"model_type": "llama", "vocab_size": %d, "max_position_embeddings": 32, "hidden_size": 32,
                 "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64}""".formatted(vocabulary));
        LanguageModel model = ModelFolder.build(described);
        model.initialize(1);
        Path saved = folder.resolve("model-" + vocabulary);
        ModelFolder.save(model, saved);
        return saved;
    }

    private static LanguageModel load(Path path) {
        LanguageModel model = ModelFolder.build(path);
        WeightLoader.load(model, path, model.mapping());
        return model;
    }

    private static double loss(LanguageModel model) {
        try (NoGradGuard _ = new NoGradGuard()) {
            long[] tokens = TEXT.substring(0, 33).chars().asLongStream().toArray();
            Tensor all = Tensor.create(tokens, 1, 33);
            return model.loss(all.narrow(1, 0, 32), all.narrow(1, 1, 32)).item_double();
        }
    }
}
