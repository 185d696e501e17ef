package io.jrun.examples.finetune;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.models.ModelFolder;
import io.jrun.models.lora.Lora;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.Libtorch;
import io.jrun.train.data.Batch;
import io.jrun.train.json.JsonObject;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.weights.WeightLoader;
import io.jrun.trainer.Trainer;
import io.jrun.trainer.TrainingArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.LongStream;
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
    @ValueSource(strings = {"", "--lora=4", "--lora=4 --lora-targets=all-linear"})
    void trainingLowersTheLossAndTheSavedWeightsHaveIt(String lora) throws IOException {
        Path model = model();
        Path data = Files.writeString(folder.resolve("text.txt"), TEXT);
        Path out = folder.resolve("out");
        double before = loss(load(model));
        List<String> args = List.of(
                "--model=" + model, "--data=" + data, "--out=" + out, "--steps=30", "--lr=0.02", "--tokenizer=bytes");
        String[] all = Stream.concat(args.stream(), Stream.of(lora.split(" ")).filter(word -> !word.isEmpty()))
                .toArray(String[]::new);
        LocalWorld.run(2, world -> run(all, world));
        if (lora.isEmpty()) {
            assertThat(loss(load(out))).isLessThan(before / 2);
        } else {
            assertThat(out.resolve("adapter_model.safetensors")).exists();
            LanguageModel adapted = load(model);
            Lora _ = Lora.open(adapted, out);
            assertThat(loss(adapted)).isLessThan(before * 0.97);
        }
    }

    @Test
    void weightsThatAreNotFiniteAreNotSaved() throws IOException {
        Path data = Files.writeString(folder.resolve("text.txt"), TEXT);
        Path out = folder.resolve("out");
        List<String> diverges =
                List.of("--model=" + model(), "--data=" + data, "--steps=4", "--lr=1e30", "--tokenizer=bytes");
        assertThatThrownBy(() -> run(diverges, "--out=" + out))
                .hasStackTraceContaining("rank 0, step 4: the parameter '")
                .hasStackTraceContaining("' has a value that is not finite. The parameters are not saved.");
        assertThat(out).doesNotExist();
    }

    /** The adapters of one training are trained on by the next one, and added to the weights of the saved model. */
    @Test
    void adaptersAreTrainedOnAndMerged() throws IOException {
        Path model = model();
        Path data = Files.writeString(folder.resolve("text.txt"), TEXT);
        List<String> common =
                List.of("--model=" + model, "--data=" + data, "--steps=15", "--lr=0.02", "--tokenizer=bytes");
        Path adapters = folder.resolve("adapters");
        Path merged = folder.resolve("merged");
        run(common, "--lora=4", "--out=" + adapters);
        run(common, "--adapters=" + adapters, "--merge", "--out=" + merged);
        LanguageModel first = load(model);
        Lora _ = Lora.open(first, adapters);
        assertThat(loss(load(merged))).isLessThan(loss(first) - 0.05);
        assertThat(merged.resolve("adapter_model.safetensors")).doesNotExist();
    }

    /** Each place of a text has the same token in all texts, so a BERT learns the hidden tokens. */
    @ParameterizedTest
    @ValueSource(strings = {"--steps=40", "--lora=4"})
    void aBertLearnsToPredictHiddenTokens(String option) throws IOException {
        Path described = Files.createDirectories(folder.resolve("described"));
        Files.writeString(described.resolve("config.json"), """
            {"model_type": "bert", "vocab_size": 256, "max_position_embeddings": 32, "hidden_size": 32,
             "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64}\
            """);
        LanguageModel fresh = ModelFolder.build(described);
        fresh.initialize(1);
        Path model = folder.resolve("bert");
        ModelFolder.save(fresh, model);
        Path data = Files.writeString(folder.resolve("text.txt"), TEXT);
        List<String> common = List.of("--model=" + model, "--data=" + data, "--lr=0.02", "--tokenizer=bytes");
        Path out = folder.resolve("out");
        run(common, option, "--out=" + out, "--mask-token=0", "--merge".repeat(option.startsWith("--lora") ? 1 : 0));
        double before = hiddenLoss(load(model));
        assertThat(hiddenLoss(load(out))).isLessThan(before * 0.985);
        assertThatThrownBy(() -> run(common))
                .hasMessageContaining("a BERT learns to predict hidden tokens, but the tokenizer has no [MASK]."
                        + " Give --mask-token=N.");
        assertThatThrownBy(() -> run(common, "--mask-token=256"))
                .hasMessageContaining("but token 256 is none of its 256 tokens");
    }

    private static double hiddenLoss(LanguageModel model) {
        try (NoGradGuard _ = new NoGradGuard()) {
            long[] tokens = TEXT.substring(0, 33).chars().asLongStream().toArray();
            Batch batch = MaskedTexts.of(List.of(tokens), 0, 256, 1, 0);
            return model.loss(batch.inputs(), batch.targets()).item_double();
        }
    }

    /** The choice depends on the step and the text alone: each rank would make the same one. */
    @Test
    void threeOfTwentyTokensAreHiddenAndTheRestStays() {
        Libtorch.load();
        int steps = 200;
        long[] tokens = LongStream.range(100, 121).toArray();
        int hidden = 0;
        int mask = 0;
        int kept = 0;
        Set<String> choices = new HashSet<>();
        for (int step = 1; step <= steps; step++) {
            Batch batch = MaskedTexts.of(List.of(tokens, tokens), 7, 256, 3, step);
            long[] inputs = new long[40];
            long[] targets = new long[40];
            batch.inputs().data_ptr_long().get(inputs);
            batch.targets().data_ptr_long().get(targets);
            assertThat(Arrays.copyOf(inputs, 20)).isEqualTo(Arrays.copyOfRange(inputs, 20, 40));
            choices.add(Arrays.toString(Arrays.copyOf(targets, 20)));
            int ofText = 0;
            for (int place = 0; place < 20; place++) {
                if (targets[place] == TokenLoss.IGNORED) {
                    assertThat(inputs[place]).isEqualTo(tokens[place]);
                } else {
                    ofText++;
                    assertThat(targets[place]).isEqualTo(tokens[place]);
                    mask += inputs[place] == 7 ? 1 : 0;
                    kept += inputs[place] == tokens[place] ? 1 : 0;
                }
            }
            assertThat(ofText).as("three places of each text").isEqualTo(3);
            hidden += ofText;
        }
        assertThat(choices).as("each step hides other places").hasSizeGreaterThan(steps / 2);
        assertThat(mask / (double) hidden).isBetween(0.75, 0.85);
        assertThat(kept / (double) hidden).isBetween(0.06, 0.14);
    }

    private static void run(String[] args, World world) {
        Trainer.train(
                TrainingArguments.parse(args, new FinetuneModelOptions(), world.size())
                        .orElseThrow(),
                world,
                System.out);
    }

    private static void run(List<String> common, String... more) {
        String[] args = Stream.concat(common.stream(), Stream.of(more))
                .filter(option -> !option.isEmpty())
                .toArray(String[]::new);
        LocalWorld.run(2, world -> run(args, world));
    }

    /** The tokenizer of the folder, JSON Lines, and all parameters; the new folder can be trained again. */
    @Test
    void textIsEncodedByTheTokenizerOfTheModel() throws IOException {
        Path model = model(280);
        try (InputStream in =
                Objects.requireNonNull(getClass().getResourceAsStream("/io/jrun/examples/tokenizer.json"))) {
            Files.copy(in, model.resolve("tokenizer.json"));
            Files.writeString(model.resolve("generation_config.json"), "{\"temperature\": 0.6}");
        }
        Path data = Files.writeString(
                folder.resolve("chats.jsonl"), "{\"body\": \"hello world and the cat\"}\n".repeat(60));
        Path out = folder.resolve("out");
        for (Path from : List.of(model, out)) {
            String[] args = {
                "--model=" + from, "--data=" + data, "--text-field=body", "--out=" + out, "--steps=4", "--context=8"
            };
            LocalWorld.run(2, world -> run(args, world));
            assertThat(out.resolve("tokenizer.json")).hasSameBinaryContentAs(model.resolve("tokenizer.json"));
            assertThat(out.resolve("generation_config.json")).hasContent("{\"temperature\": 0.6}");
        }
        Path small = model(256);
        String[] args = {
            "--model=" + small, "--data=" + data, "--text-field=body", "--tokenizer=" + model, "--context=8"
        };
        assertThatThrownBy(() -> LocalWorld.run(1, world -> run(args, world)))
                .hasMessageContaining("has 280 tokens, the model has 256. Give the tokenizer of the model.");
        String[] none = {"--model=" + small, "--data=" + data};
        assertThatThrownBy(() -> LocalWorld.run(1, world -> run(none, world)))
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
                "--model=x                       | give --data=PATH to train, or --print-logits=T,T,... to print"
                        + " logits",
                "--modle=x                       | unknown option '--modle=x'. Did you mean '--model'?",
                "--model                         | --model needs a value",
                "--model=x --data=y --lora=0     | --lora is '0', expected a whole number from 1 to 65536",
                "--model=x --print-logits=1,a    | --print-logits is '1,a', expected whole numbers with commas between",
                "--model=x --print-logits=1 --data=y | --print-logits trains nothing: leave --data out",
                "--model=x --adapters=y --merge --out=z --tokenizer=bytes"
                        + " | --merge without --data trains nothing: leave --tokenizer out",
                "--model=x --adapters=y --merge --out=z --stpes=3 | unknown option '--stpes=3'. See --help.",
                "--model=x --generate=y --lora 8 | --generate trains nothing: leave --lora out",
                "--model=x --data=y --merge --out=z  | --merge needs --out=DIR, and --lora=RANK or --adapters=DIR",
                "--model=x --data=y --lora-targets=a | --lora-targets needs --lora=RANK",
                "--model=x --data=y --lora=4 --adapters=z"
                        + " | --adapters goes on from adapters, --lora makes new ones: give one",
                "--model=x --data=y --out=/etc/passwd | --out=/etc/passwd is a file. Name a folder for the model.",
                "--model=x --data=y --read=all   | --read is 'all', expected one of every-rank, one-per-node, rank-0"
            })
    void unusableArgumentsAreOneLine(String args, String message) {
        String[] words = args.split(" ", -1);
        assertThatThrownBy(() -> LocalWorld.run(1, world -> {
                    if (args.contains("--print-logits")) {
                        Finetune.printLogits(words, world);
                    } else if (args.contains("--generate")) {
                        Finetune.generate(words, world);
                    } else if (args.contains("--merge") && !args.contains("--data")) {
                        Finetune.merge(words, world);
                    } else {
                        run(words, world);
                    }
                }))
                .hasStackTraceContaining(InvalidArgumentException.class.getName() + ": " + message);
    }

    /** The file names sizes of which the parameters would need terabytes. */
    @ParameterizedTest
    @CsvSource({
        "'{\"model_type\":\"gpt2\",\"n_embd\":100000,\"n_layer\":12,\"n_head\":10,\"vocab_size\":9,\"n_positions\":8}'",
        "'{\"model_type\":\"bert\",\"hidden_size\":100000,\"num_hidden_layers\":12,\"num_attention_heads\":10,"
                + "\"intermediate_size\":1000,\"vocab_size\":9}'",
        "'{\"model_type\":\"llama\",\"hidden_size\":1024,\"num_hidden_layers\":4096,\"num_attention_heads\":8,"
                + "\"intermediate_size\":1000000,\"vocab_size\":9}'"
    })
    void modelsLargerThanTheMemoryAreRefusedBeforeTheyAreBuilt(String config, @TempDir Path model) throws Exception {
        Files.writeString(model.resolve("config.json"), config);
        String[] args = {"--model=" + model, "--print-logits=1"};
        LocalWorld.run(
                1,
                world -> assertThatThrownBy(() -> Finetune.printLogits(args, world))
                        .isInstanceOf(InvalidArgumentException.class)
                        .hasMessageMatching(
                                "the parameters of .* need at least \\d+ GB of memory on a rank, this machine"
                                        + " has \\d+ GB\\. Give smaller sizes\\."));
    }

    private Path model() throws IOException {
        return model(256);
    }

    private Path model(int vocabulary) throws IOException {
        Path described = Files.createDirectories(folder.resolve("described"));
        Files.writeString(described.resolve("config.json"), """
            {"model_type": "llama", "vocab_size": %d, "max_position_embeddings": 32, "hidden_size": 32,
             "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64}\
            """.formatted(vocabulary));
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
