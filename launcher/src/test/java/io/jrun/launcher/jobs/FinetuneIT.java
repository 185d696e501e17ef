package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jrun.launcher.jobs.JRun.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** finetune.jar as a job: a BERT of torch.save, the tokenizers in lib/tokenizers, and the folder that is saved. */
class FinetuneIT extends RealJobs {
    private static final Path RESOURCES = Path.of(Objects.requireNonNull(System.getProperty("jrun.root")))
            .resolve("worker-runtime/models/src/test/resources/io/jrun/models");
    private static final double TOLERANCE = 1e-4;

    private Path weights;

    @BeforeEach
    void writeModel() throws IOException {
        Path model = Files.createDirectories(folder.resolve("bert"));
        weights = Files.copy(RESOURCES.resolve("bert-uncased.pth"), model.resolve("bert-base-uncased.pth"));
        Files.writeString(model.resolve("config.json"), """
                {"model_type": "bert", "vocab_size": 61, "max_position_embeddings": 16, "hidden_size": 24,
                 "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40, "new_field": 1}""");
        Files.writeString(model.resolve("tokenizer.json"), """
                {"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
                 "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
                 "model": {"type": "WordLevel", "unk_token": "[UNK]",
                  "vocab": {"[UNK]": 0, "[MASK]": 1, "the": 2, "cat": 3, "sat": 4, "on": 5, "mat": 6}}}""");
    }

    /** One choice of readers, drawn by the seed of the run; all choices under {@code -Djrun.soak=true}. */
    @Test
    void theLogitsOfAFileOfTorchEqualTheOracle() throws IOException {
        double[] golden = golden();
        for (String readers : RunSeed.sample(List.of("every-rank", "one-per-node", "rank-0"), 1)) {
            double[] found = Arrays.stream(logits(weights, "--read=" + readers))
                    .flatMapToDouble(Arrays::stream)
                    .toArray();
            assertThat(found).as(readers).containsExactly(golden, Offset.offset(TOLERANCE));
        }
    }

    @Test
    void adaptersAreTrainedAndTheSavedFolderHasThem() throws IOException {
        Path text = Files.writeString(folder.resolve("text.txt"), "the cat sat on the mat ".repeat(300));
        Path adapters = folder.resolve("adapters");
        Path merged = folder.resolve("merged");
        String[] training = {"--model=" + weights, "--data=" + text, "--steps=4", "--lr=0.05", "--context=8"};
        Result first = finetune(StandingAgent.join(training, "--lora=2", "--out=" + adapters));
        assertThat(first.exitCode()).as(first.err()).isZero();
        assertThat(first.out()).contains("rank 0 has read ", "step 4/4 loss ", "saved " + adapters);
        assertThat(first.err())
                .containsOnlyOnce("jrun: note: config.json has fields that jrun's BERT does not know and does not use:"
                        + " new_field")
                .containsOnlyOnce("jrun: note: " + weights + " has tensors that the model does not use:"
                        + " bert.pooler.dense.weight,");
        Result second = finetune(StandingAgent.join(training, "--adapters=" + adapters, "--merge", "--out=" + merged));
        assertThat(second.exitCode()).as(second.err()).isZero();
        assertThat(merged.resolve("tokenizer.json")).exists();
        double base = golden()[0];
        double adapted = logits(weights, "--adapters=" + adapters)[0][0];
        double saved = logits(merged)[0][0];
        assertThat(adapted).isNotCloseTo(base, Offset.offset(1e-3));
        assertThat(saved).isNotCloseTo(adapted, Offset.offset(1e-3));
    }

    @Test
    void aDamagedFileIsRefusedInOneLineWithExitCodeTwo() throws IOException {
        byte[] bytes = Files.readAllBytes(weights);
        Files.write(weights, Arrays.copyOf(bytes, bytes.length / 2));
        Result refused = finetune("--model=" + weights, "--print-logits=1,2");
        assertThat(refused.exitCode()).as(refused.err()).isEqualTo(2);
        assertThat(refused.err())
                .contains("finetune: " + weights + " is not a valid torch.save file: ")
                .doesNotContain("Exception", "\tat ");
    }

    /** The logits of the oracle for the untrained model. */
    private static double[] golden() throws IOException {
        return Files.readAllLines(RESOURCES.resolve("logits.txt")).stream()
                .filter(line -> line.startsWith("bert "))
                .flatMapToDouble(line -> Arrays.stream(numbers(line.substring("bert ".length()))))
                .toArray();
    }

    private double[][] logits(Path model, String... options) throws IOException {
        Result result = finetune(
                StandingAgent.join(new String[] {"--model=" + model, "--print-logits=1,2,3,60,0,17,42"}, options));
        assertThat(result.exitCode()).as(result.err()).isZero();
        JsonNode rows =
                new JsonMapper().readTree(result.out().substring(result.out().indexOf("[[")));
        double[][] logits = new double[rows.size()][];
        for (int row = 0; row < logits.length; row++) {
            logits[row] = new double[rows.get(row).size()];
            for (int i = 0; i < logits[row].length; i++) {
                logits[row][i] = rows.get(row).get(i).asDouble();
            }
        }
        return logits;
    }

    private Result finetune(String... options) {
        String[] program = {
            "--nproc-per-node=2",
            Path.of(Objects.requireNonNull(System.getProperty("jrun.home")))
                    .resolve("examples/finetune.jar")
                    .toString()
        };
        return jrun.run(StandingAgent.join(program, options));
    }

    private static double[] numbers(String line) {
        return Arrays.stream(line.split(" ", -1))
                .mapToDouble(Double::parseDouble)
                .toArray();
    }
}
