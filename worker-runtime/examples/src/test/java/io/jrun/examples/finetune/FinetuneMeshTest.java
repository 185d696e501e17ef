package io.jrun.examples.finetune;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.examples.CasesOfSeed;
import io.jrun.models.ModelFolder;
import io.jrun.models.lora.Lora;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.Libtorch;
import io.jrun.train.weights.WeightLoader;
import io.jrun.trainer.Trainer;
import io.jrun.trainer.TrainingArguments;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** finetune.jar on several meshes: the saved model gives the logits that one rank's gives. A step has 4 texts. */
class FinetuneMeshTest {
    private static final String TEXT = "abcdefgh ijklmnop ".repeat(80);
    private static final int DRAWN = 2;

    private static final List<String> MESHES = List.of(
            "2 --shard=2",
            "2 --tp=2",
            "2 --pp=2",
            "2 --dp=2 --recompute=1",
            "2 --shard=2 --zero=1 --optimizer=fused",
            "2 --shard=2 --zero=2 --optimizer=fused",
            "4 --tp=2 --shard=2",
            "4 --pp=2 --tp=2",
            "4 --pp=2 --shard=2 --reshard-after-forward=yes");

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpt2", "llama", "bert"})
    void theSavedModelIsThatOfOneRank(String type) throws IOException {
        Path base = base(type);
        for (String lora : List.of("", "--lora=2 --lora-targets=all-linear")) {
            double[] before = logits(base, "");
            double[] expected = train(base, "1", lora);
            assertThat(difference(expected, before))
                    .as("the training changes the model")
                    .isGreaterThan(0.001);
            for (String mesh : CasesOfSeed.draw(MESHES, DRAWN)) {
                assertThat(difference(train(base, mesh, lora), expected))
                        .as(type + " " + mesh + " " + lora)
                        .isLessThan(2e-5);
            }
        }
    }

    /** The merged model needs no adapters. A training and a later merge give the model of a training with a merge. */
    @Test
    void adaptersOfAMeshAreMergedWithoutATraining() throws IOException {
        Path base = base("llama");
        double[] adapted = train(base, "2 --tp=2", "--lora=2");
        Path merged = folder.resolve("merged");
        LocalWorld.run(
                2,
                world -> Finetune.merge(
                        new String[] {
                            "--model=" + base, "--adapters=" + folder.resolve("out"), "--merge", "--out=" + merged
                        },
                        world));
        assertThat(difference(logits(merged, ""), adapted)).isLessThan(1e-5);
        assertThat(difference(train(base, "2 --shard=2", "--lora=2 --merge"), adapted))
                .isLessThan(2e-5);
    }

    /** Each token of a text without a temperature is the one with the largest logit. */
    @Test
    void theGeneratedTextHasTheLargestLogits() throws IOException {
        Path base = base("gpt2");
        train(base, "2 --dp=2", "");
        Path tuned = folder.resolve("out");
        LanguageModel model = ModelFolder.build(tuned);
        WeightLoader.load(model, tuned, model.mapping());
        byte[] text = Arrays.copyOf("abc".getBytes(StandardCharsets.UTF_8), 9);
        for (int end = 3; end < text.length; end++) {
            long[] seen = new long[end];
            for (int i = 0; i < end; i++) {
                seen[i] = text[i] & 0xff;
            }
            try (NoGradGuard _ = new NoGradGuard()) {
                Tensor logits = model.forward(Tensor.create(seen, 1, end)).select(1, end - 1L);
                text[end] = (byte) logits.argmax().item_long();
            }
        }
        String expected = new String(text, 3, 6, StandardCharsets.UTF_8);
        String[] args = {"--model=" + tuned, "--tokenizer=bytes", "--generate=abc", "--max-new-tokens=6"};
        assertThat(printed(args)).isEqualTo(expected + System.lineSeparator());
        assertThatThrownBy(() -> printed("--model=" + tuned, "--tokenizer=bytes", "--generate=abc", "--chat"))
                .hasStackTraceContaining("has no chat_template, and there is no chat_template.jinja beside it");
        Files.writeString(
                tuned.resolve("tokenizer_config.json"),
                "{\"chat_template\": \"{{ messages[0].content }}{% if add_generation_prompt %}bc{% endif %}\"}");
        assertThat(printed("--model=" + tuned, "--tokenizer=bytes", "--generate=a", "--chat", "--max-new-tokens=6"))
                .isEqualTo(expected + System.lineSeparator());
    }

    /** The text that the generation prints. */
    private static String printed(String... args) {
        PrintStream before = System.out;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            LocalWorld.run(1, world -> Finetune.generate(args, world));
        } finally {
            System.setOut(before);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    @Test
    void aBertNeedsWholeSequences() throws IOException {
        Path base = base("bert");
        assertThatThrownBy(() -> train(base, "2 --cp=2", ""))
                .hasStackTraceContaining("--cp and --sequence-parallel work with a GPT-2 or a Llama");
    }

    private Path base(String type) throws IOException {
        Path described = Files.createDirectories(folder.resolve("described"));
        Files.writeString(
                described.resolve("config.json"),
                switch (type) {
                    case "bert" -> """
                        {"model_type": "bert", "vocab_size": 256, "max_position_embeddings": 32, "hidden_size": 32,
                         "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}\
                        """;
                    case "gpt2" -> """
                        {"model_type": "gpt2", "vocab_size": 256, "n_positions": 32, "n_embd": 32, "n_layer": 2,
                         "n_head": 4}\
                        """;
                    default -> """
                        {"model_type": "llama", "vocab_size": 256, "max_position_embeddings": 32, "hidden_size": 32,
                         "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                         "intermediate_size": 64, "tie_word_embeddings": false}\
                        """;
                });
        LanguageModel model = ModelFolder.build(described);
        model.initialize(1);
        Path saved = folder.resolve("base");
        ModelFolder.save(model, saved);
        return saved;
    }

    /** Trains on the ranks of a mesh. Returns the logits of the saved model, or of the base with the saved adapters. */
    private double[] train(Path base, String mesh, String lora) throws IOException {
        Path data = Files.writeString(folder.resolve("text.txt"), TEXT);
        Path out = folder.resolve("out");
        String[] words = mesh.split(" ");
        String[] args = Stream.concat(
                        Stream.of(
                                "--model=" + base,
                                "--data=" + data,
                                "--tokenizer=bytes",
                                Files.readString(base.resolve("config.json")).contains("bert") ? "--mask-token=0" : "",
                                "--context=16",
                                "--micro-batch=1",
                                "--global-batch=4",
                                "--steps=4",
                                "--lr=0.01",
                                "--out=" + out),
                        Stream.concat(Stream.of(words).skip(1), Stream.of(lora.split(" "))))
                .filter(word -> !word.isEmpty())
                .toArray(String[]::new);
        LocalWorld.run(
                LocalWorldOptions.ofSize(Integer.parseInt(words[0])).withDeterministic(true),
                world -> Trainer.train(
                        TrainingArguments.parse(args, new FinetuneModelOptions(), world.size())
                                .orElseThrow(),
                        world,
                        new PrintStream(OutputStream.nullOutputStream())));
        boolean isAdapted = lora.startsWith("--lora") && !lora.contains("--merge");
        return isAdapted ? logits(base, out.toString()) : logits(out, "");
    }

    private static double[] logits(Path path, String adapters) {
        LanguageModel model = ModelFolder.build(path);
        WeightLoader.load(model, path, model.mapping());
        if (!adapters.isEmpty()) {
            Lora _ = Lora.open(model, Path.of(adapters));
        }
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor logits = model.forward(Tensor.create(new long[] {97, 98, 99, 32, 105, 106}, 1, 6));
            float[] values = new float[Math.toIntExact(logits.numel())];
            logits.contiguous().data_ptr_float().get(values);
            double[] wide = new double[values.length];
            for (int i = 0; i < wide.length; i++) {
                wide[i] = values[i];
            }
            return wide;
        }
    }

    private static double difference(double[] one, double[] other) {
        assertThat(one).hasSameSizeAs(other);
        double largest = 0;
        for (int i = 0; i < one.length; i++) {
            largest = Math.max(largest, Math.abs(one[i] - other[i]));
        }
        return largest;
    }
}
