package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.comm.local.LocalWorld;
import io.jrun.examples.CasesOfSeed;
import io.jrun.examples.own.OwnModel;
import io.jrun.train.Libtorch;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.tensor.DeviceTensors;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.assertj.core.data.Offset;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Conversations with answers of unequal lengths: the losses are means over the tokens of the answers, on each mesh. */
class ChatTrainingTest {
    private static final String TEMPLATE = """
        {% for message in messages %}
        {{- '<' ~ message.role[0] ~ '>' ~ message.content ~ ';' }}
        {%- endfor %}
        {%- if add_generation_prompt %}<a>{% endif %}
        """;
    private static final List<String> MESHES = List.of(
            "2 --dp=2",
            "4 --dp=4",
            "2 --pp=2",
            "2 --tp=2",
            "2 --cp=2",
            "2 --shard=2",
            "2 --shard=2 --zero=2 --optimizer=fused",
            "4 --pp=2 --cp=2");
    private static final Offset<Double> CLOSE = Offset.offset(1e-6);

    /** Question, answer, question, answer. */
    private static final List<List<String>> CHATS = List.of(
            List.of("ab", "cdefghij"),
            List.of("what", "b"),
            List.of("xyxyx", "y"),
            List.of("q", "abc", "qq", "d"),
            List.of("last", "held out"));

    @TempDir
    private Path folder;

    private final List<String> options = new ArrayList<>();

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @BeforeEach
    void write() throws IOException {
        List<String> lines = CHATS.stream().map(ChatTrainingTest::json).toList();
        options.addAll(List.of(
                "--chat",
                "--data=" + Files.write(folder.resolve("chats.jsonl"), lines),
                "--chat-template=" + Files.writeString(folder.resolve("template.jinja"), TEMPLATE),
                "--context=32"));
    }

    private static String json(List<String> texts) {
        List<String> messages = new ArrayList<>();
        for (int i = 0; i < texts.size(); i++) {
            messages.add("{\"role\": \"" + (i % 2 == 0 ? "user" : "assistant") + "\", \"content\": \"" + texts.get(i)
                    + "\"}");
        }
        return "{\"messages\": [" + String.join(", ", messages) + "]}";
    }

    /** The step of four conversations has 9 + 2 + 2 + (4 + 2) tokens of answers. */
    @Test
    void theLossIsTheMeanOverTheTokensOfTheAnswersOnEachMesh() {
        Sum trained = CHATS.subList(0, 4).stream().map(this::lossOf).reduce(new Sum(0, 0), Sum::plus);
        assertThat(trained.count).isEqualTo(19);
        Sum held = lossOf(CHATS.getLast());
        assertThat(held.count).isEqualTo(9);
        for (String mesh : Stream.concat(Stream.of("1"), CasesOfSeed.draw(MESHES, 3).stream())
                .toList()) {
            RecordedTraining found = train(mesh, "--lr=1e-30", "--steps=1", "--eval-every=1");
            assertThat(found.firstLoss()).as(mesh).isCloseTo(trained.mean(), CLOSE);
            assertThat(found.heldOut(0).getLast()).as(mesh).isCloseTo(held.mean(), CLOSE);
        }
        assertThat(train("1", "--steps=1").printed())
                .contains("on 4 conversations in 4 samples with 19 tokens to learn, 1 rank x 1 sequence, 1 step");
    }

    /** The gradients have the weights too. */
    @Test
    void eachMeshHasTheParametersOfOneRank() {
        Path one = folder.resolve("one");
        train("1", "--steps=3", "--clip=0.5", "--checkpoint=" + one);
        Map<String, double[]> expected = CheckpointContents.of(one, 3);
        for (String mesh : CasesOfSeed.draw(MESHES, 3)) {
            Path saved = folder.resolve(mesh.replaceAll("\\W+", "-"));
            train(mesh, "--steps=3", "--clip=0.5", "--checkpoint=" + saved);
            CheckpointContents.assertClose(CheckpointContents.of(saved, 3), expected, 1e-12, mesh);
        }
    }

    @Test
    void packedConversationsLearnEachAnswerOnce() {
        assertThat(train("1", "--pack", "--context=68", "--steps=1", "--global-batch=1")
                        .printed())
                .contains("4 conversations in 1 samples with 19 tokens to learn, packed");
        assertThat(train("1", "--train-on=all", "--steps=1").printed())
                .contains("in 4 samples with 64 tokens to learn");
        assertThat(train("1", "--context=13", "--steps=1", "--global-batch=1").printed())
                .contains("in 4 samples with ", "(2 longer than --context=13 are cut)");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"text\": \"a\"};line 1: lacks 'messages'",
                "{\"messages\": [7]};line 1: has a message that is no object with 'role' and 'content'",
                "{\"messages\": [{\"role\": \"user\"}, {\"role\": \"x\", \"content\": 1}]};has no answer in the first"
                        + " 33 tokens",
                "{\"messages\": ;chats.jsonl, line 1, column 14: found the end"
            })
    void anUnusableLineIsOneLine(String lineAndMessage) throws IOException {
        String[] parts = lineAndMessage.split(";", 2);
        Files.writeString(folder.resolve("chats.jsonl"), parts[0]);
        assertThatThrownBy(() -> train("2 --dp=2")).hasStackTraceContaining(parts[1]);
    }

    @Test
    void aTemplateThatChangesEarlierAnswersIsRefused() throws IOException {
        Files.writeString(
                folder.resolve("template.jinja"),
                "{% for m in messages %}<{{ m.role[0] }}>{{ m.content if loop.last else '-' }};{% endfor %}");
        assertThatThrownBy(() -> train("1"))
                .hasStackTraceContaining(
                        "chats.jsonl, line 1: the template writes message 2, an answer, in another way");
        assertThat(train("1", "--train-on=all", "--steps=1").printed()).contains("held-out loss");
        Files.writeString(folder.resolve("template.jinja"), "{{ raise_exception('no ' ~ messages[0].role) }}");
        assertThatThrownBy(() -> train("1"))
                .hasStackTraceContaining("line 1: " + folder.resolve("template.jinja")
                        + ": line 1 of the template: the template refuses the messages: no user");
    }

    private RecordedTraining train(String mesh, String... more) {
        return RecordedTraining.run(
                mesh,
                OwnModel::new,
                Stream.concat(options.stream(), Stream.of(more)).toArray(String[]::new));
    }

    private record Sum(double loss, long count) {
        Sum plus(Sum other) {
            return new Sum(loss + other.loss, count + other.count);
        }

        double mean() {
            return loss / count;
        }
    }

    /** The losses of the answers of a conversation before the first step, token by token. */
    private Sum lossOf(List<String> texts) {
        StringBuilder text = new StringBuilder();
        List<Integer> answers = new ArrayList<>();
        for (int i = 0; i < texts.size(); i++) {
            boolean isAnswer = i % 2 == 1;
            text.append(isAnswer ? "<a>" : "<u>");
            for (int j = 0; isAnswer && j <= texts.get(i).length(); j++) {
                answers.add(text.length() + j);
            }
            text.append(texts.get(i)).append(';');
        }
        byte[] bytes = text.toString().getBytes(StandardCharsets.US_ASCII);
        long[] tokens = new long[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            tokens[i] = bytes[i];
        }
        double[] sum = {0};
        LocalWorld.run(1, world -> {
            TrainingArguments arguments = TrainingArguments.parse(
                            RecordedTraining.arguments(), ModelOptions.none(OwnModel::new), 1)
                    .orElseThrow()
                    .withData(256, 32);
            TrainableModel model =
                    TrainedModel.build(arguments, arguments.parallel().mesh(world), _ -> {});
            try (NoGradGuard _ = new NoGradGuard();
                    PointerScope _ = new PointerScope()) {
                Tensor logits = model.forward(DeviceTensors.of(Device.CPU, tokens, 1, tokens.length));
                Tensor logProbabilities = torch.log_softmax(logits.select(0, 0), 1);
                for (int place : answers) {
                    sum[0] -= logProbabilities
                            .select(0, place - 1L)
                            .select(0, tokens[place])
                            .item_double();
                }
            }
        });
        return new Sum(sum[0], answers.size());
    }
}
