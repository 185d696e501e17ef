package io.jrun.tokenizers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.data.DataException;
import io.jrun.train.json.JsonObject;
import io.jrun.train.token.Tokenizer;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HuggingFaceTokenizerTest {
    private static final int HOSTILE = Boolean.getBoolean("jrun.soak") ? 2_000 : 100;

    @TempDir
    private Path folder;

    /**
     * Golden values of the Python package tokenizers, by make.py beside the files. bpe.json asks for truncation and
     * padding.
     */
    @ParameterizedTest
    @ValueSource(strings = {"bpe", "wordpiece", "unigram"})
    void tokensEqualThoseOfPython(String name) throws IOException {
        int lines = 0;
        try (Tokenizer tokenizer = open(resource(name + ".json"))) {
            for (String line : Files.readAllLines(resource("golden.txt"))) {
                String[] fields = line.split("\t", -1);
                if (fields[0].equals(name)) {
                    byte[] text = string(fields[1]).getBytes(StandardCharsets.UTF_8);
                    int[] tokens = tokenizer.encode(text);
                    assertThat(String.join(
                                    ",",
                                    IntStream.of(tokens)
                                            .mapToObj(Integer::toString)
                                            .toList()))
                            .as(line)
                            .isEqualTo(fields[2]);
                    assertThat(new String(tokenizer.decode(tokens), StandardCharsets.UTF_8))
                            .isEqualTo(string(fields[3]));
                    lines++;
                }
            }
        }
        assertThat(lines).isEqualTo(5);
    }

    /**
     * The normalizers, pre-tokenizers and decoders of published tokenizers, with the models of the tiny tokenizers.
     * Golden values of the Python package tokenizers, by forms.py beside the file.
     */
    @Test
    void theFormsOfPublishedTokenizersGiveTheTokensOfPython() throws IOException {
        List<String> lines = Files.readAllLines(resource("forms.txt"));
        List<String> texts = list(lines.getFirst().split("\t", -1)[1]);
        int equal = 0;
        for (String line : lines.subList(1, lines.size())) {
            String[] fields = line.split("\t", -1);
            String base = Files.readString(resource(fields[1] + ".json"));
            int added = base.indexOf("\"added_tokens\"");
            String json = "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"normalizer\":" + fields[2]
                    + ",\"pre_tokenizer\":" + fields[3] + ",\"post_processor\":null,\"decoder\":" + fields[4] + ","
                    + base.substring(added, base.indexOf(",\"normalizer\"", added)) + ","
                    + base.substring(base.lastIndexOf("\"model\":{"));
            try (Tokenizer tokenizer = open(Files.writeString(folder.resolve("tokenizer.json"), json))) {
                List<String> tokens = new ArrayList<>();
                for (String text : texts) {
                    tokens.add(Arrays.toString(tokenizer.encode(text.getBytes(StandardCharsets.UTF_8)))
                            .replace(" ", ""));
                }
                assertThat("[" + String.join(",", tokens) + "]").as(fields[0]).isEqualTo(fields[5]);
                byte[] decoded =
                        tokenizer.decode(tokenizer.encode(texts.getFirst().getBytes(StandardCharsets.UTF_8)));
                assertThat(new String(decoded, StandardCharsets.UTF_8))
                        .as(fields[0])
                        .isEqualTo(string(fields[6]));
                equal++;
            }
        }
        assertThat(equal).isEqualTo(47);
    }

    /** The library has no limit of its own, and ends its process at some of these. */
    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            quoteCharacter = '`',
            value = {
                // exponential, polynomial, and with a look-around and a back reference
                "null; (a+)+$; a; 60; 300; (took more than 0.3 s of CPU time|ended with exit code \\d+ when it had)",
                "null; [a-z]+[a-z]+[a-z]+[a-z]+(?=[0-9]); a; 2000; 300; (took more than 0.3 s of CPU time|ended with exit code \\d+ when it had)",
                "null; (?=(a+)+b)\\1+c; a; 2000; 300; (took more than 0.3 s of CPU time|ended with exit code \\d+ when it had)",
                "{'type':'Replace','pattern':{'String':'a'},'content':'MANY'}; x; a; 100000; 60000; took more than \\d+ MiB of memory",
            })
    void aTextThatNeedsTooMuchIsOneLineAndTheNextTextIsEncoded(
            String normalizer, String expression, String text, int times, int cpuMillis, String reason)
            throws IOException {
        Path file = withExpression(normalizer.replace('\'', '"').replace("MANY", "a".repeat(10_000)), expression);
        HuggingFaceTokenizer.Limits limits = new HuggingFaceTokenizer.Limits(cpuMillis, 300, 1, 1000);
        try (Tokenizer tokenizer = HuggingFaceTokenizer.of(TokenizerDefinition.read(file), limits)) {
            assertThatThrownBy(() -> tokenizer.encode((text.repeat(times) + "!").getBytes(StandardCharsets.UTF_8)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageMatching("the tokenizer of \\Q" + file
                            + "\\E " + reason + " to encode " + (times + 1) + " bytes of text\\. Its expressions: '\\Q"
                            + expression
                            + "\\E'");
            assertThat(tokenizer.encode(new byte[] {'a'})).isNotEmpty();
        }
    }

    @Test
    void anExpressionThatEndsTheLibraryWhenItIsReadIsOneLine() throws IOException {
        Path file = withExpression("null", "(".repeat(50_000) + "a" + ")".repeat(50_000));
        assertThatThrownBy(() -> open(file))
                .isInstanceOf(DataException.class)
                .message()
                .startsWith(file + " is not a valid tokenizer: ")
                .doesNotContain("\n")
                .hasSizeLessThan(5000);
    }

    /** Numbers of tokens that no file of this size has, an empty token, and a token of ten thousand letters. */
    @ParameterizedTest
    @CsvSource({
        "9223372036854775807, a, 1, 'the token number 9223372036854775807, expected 0 to '",
        "2147483648, a, 1, 'the token number 2147483648, expected 0 to '",
        "-1, a, 1, 'the token number -1, expected 0 to '",
        "1, '', 1, ''",
        "1, b, 10000, ''"
    })
    void addedTokensBeyondReasonAreOneLineOrWork(String id, String letter, int times, String reason)
            throws IOException {
        Path file = Files.writeString(folder.resolve("tokenizer.json"), withAddedToken(id, letter.repeat(times)));
        if (reason.isEmpty()) {
            try (Tokenizer tokenizer = open(file)) {
                assertThat(tokenizer.encode("a".getBytes(StandardCharsets.UTF_8)))
                        .containsExactly(0);
                assertThat(tokenizer.encode("b".repeat(times).getBytes(StandardCharsets.UTF_8)))
                        .hasSize(1);
            }
        } else {
            assertThatThrownBy(() -> open(file))
                    .isInstanceOf(DataException.class)
                    .message()
                    .contains(reason)
                    .hasLineCount(1);
        }
    }

    /** The shell is the parent. The pipe to the process stays open, and native code does not look at the pipe. */
    @Test
    void aBusyProcessEndsWhenItsParentIsKilled() throws Exception {
        Path file = withExpression("null", "x");
        byte[] slow = withAddedToken("1", "b".repeat(1_000_000)).getBytes(StandardCharsets.UTF_8);
        Path pid = folder.resolve("pid");
        Process shell = new ProcessBuilder(
                        "sh",
                        "-c",
                        "exec 3<&0; \"$@\" <&3 & echo $! > " + pid + "; wait",
                        "sh",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        TokenizerMain.class.getName())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (DataOutputStream requests = new DataOutputStream(shell.getOutputStream());
                DataInputStream replies = new DataInputStream(shell.getInputStream())) {
            request(requests, TokenizerMain.LOAD, Files.readAllBytes(file));
            assertThat(replies.readByte()).isEqualTo(TokenizerMain.DONE);
            request(requests, TokenizerMain.LOAD, slow); // takes more than 25 s
            ProcessHandle busy = ProcessHandle.of(
                            Long.parseLong(Files.readString(pid).strip()))
                    .orElseThrow();
            try {
                assertThat(shell.toHandle().destroyForcibly()).isTrue(); // keeps the pipes open
                assertThat(busy.onExit()).succeedsWithin(Duration.ofSeconds(15));
            } finally {
                boolean _ = busy.destroyForcibly();
            }
        }
    }

    private String withAddedToken(String id, String content) throws IOException {
        return Files.readString(withExpression("null", "x"))
                .replace(
                        "\"added_tokens\": []",
                        "\"added_tokens\": [{\"id\": " + id + ", \"content\": \"" + content
                                + "\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false,"
                                + " \"normalized\": false, \"special\": true}]");
    }

    private static void request(DataOutputStream to, byte kind, byte[] content) throws IOException {
        to.writeByte(kind);
        to.writeInt(3_600_000); // an hour of CPU time
        to.writeInt(10_000);
        to.writeInt(content.length);
        to.write(content);
        to.flush();
    }

    private Path withExpression(String normalizer, String expression) throws IOException {
        return Files.writeString(
                folder.resolve("tokenizer.json"), """
                {"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": %s,
                 "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "%s"}, "behavior": "Isolated", "invert": false},
                 "post_processor": null, "decoder": null,
                 "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}}}""".formatted(normalizer, expression.replace("\\", "\\\\")));
    }

    @Test
    void addedTokensBehindTheVocabularyCount() throws IOException {
        Path file = folder.resolve("tokenizer.json");
        String json = Files.readString(resource("wordpiece.json"));
        Files.writeString(
                file,
                json.replaceFirst(
                        "\"added_tokens\":\\[",
                        "\"added_tokens\":[{\"id\":22,\"content\":\"<new>\",\"single_word\":false,\"lstrip\":false,"
                                + "\"rstrip\":false,\"normalized\":false,\"special\":true},"));
        try (Tokenizer tokenizer = open(file)) {
            assertThat(tokenizer.vocabulary()).isEqualTo(23);
            assertThat(tokenizer.encode("<new>".getBytes(StandardCharsets.UTF_8)))
                    .containsExactly(22);
        }
    }

    @Test
    void theVocabularyAndTheEndOfTextComeFromTheFiles() throws IOException {
        try (Tokenizer bpe = open(resource("bpe.json"));
                Tokenizer unigram = open(resource("unigram.json"));
                Tokenizer wordPiece = open(resource("wordpiece.json"))) {
            assertThat(bpe.vocabulary()).isEqualTo(280);
            assertThat(bpe.endOfText()).hasValue(0);
            assertThat(unigram.vocabulary()).isEqualTo(14);
            assertThat(unigram.endOfText()).hasValue(2);
            assertThat(wordPiece.vocabulary()).isEqualTo(22);
            assertThat(wordPiece.endOfText()).isEmpty();
            assertThat(wordPiece.maskToken()).isEmpty();
            assertThat(bpe.maskToken()).isEmpty();
            assertThat(bpe.id()).hasSize(32).isNotEqualTo(unigram.id());
        }
        Path file = Files.copy(resource("wordpiece.json"), folder.resolve("tokenizer.json"));
        Path config = folder.resolve("tokenizer_config.json");
        for (String token : new String[] {"\"[SEP]\"", "{\"content\": \"[SEP]\"}"}) {
            Files.writeString(config, "{\"eos_token\": " + token + ", \"mask_token\": \"[CLS]\"}");
            try (Tokenizer tokenizer = open(file)) {
                assertThat(tokenizer.endOfText()).hasValue(3);
                assertThat(tokenizer.maskToken()).hasValue(2);
            }
        }
        Files.writeString(config, "{\"eos_token\": \"</s>\"}");
        assertThatThrownBy(() -> open(file))
                .isInstanceOf(DataException.class)
                .hasMessage(file + " lacks the token '</s>', which tokenizer_config.json names as eos_token");
    }

    /** Some editors write the mark. */
    @Test
    void aByteOrderMarkChangesNoToken() throws IOException {
        byte[] text = "hello the world".getBytes(StandardCharsets.UTF_8);
        Path marked = folder.resolve("tokenizer.json");
        Files.writeString(marked, "\uFEFF" + Files.readString(resource("bpe.json")));
        try (Tokenizer plain = open(resource("bpe.json"));
                Tokenizer tokenizer = open(marked)) {
            assertThat(tokenizer.encode(text)).isEqualTo(plain.encode(text));
            assertThat(tokenizer.id()).isEqualTo(plain.id());
        }
    }

    @Test
    void severalThreadsUseOneTokenizer() throws IOException {
        try (Tokenizer tokenizer = open(resource("bpe.json"))) {
            byte[] text = "hello the world and 1234".repeat(20).getBytes(StandardCharsets.UTF_8);
            int[] expected = tokenizer.encode(text);
            AtomicInteger equal = new AtomicInteger();
            IntStream.range(0, 64).parallel().forEach(_ -> {
                if (Arrays.equals(expected, tokenizer.encode(text))) {
                    equal.incrementAndGet();
                }
            });
            assertThat(equal).hasValue(64);
        }
    }

    @Test
    void textThatIsNotUtf8AndAClosedTokenizerAreErrors() throws IOException {
        Tokenizer tokenizer = open(resource("bpe.json"));
        assertThatThrownBy(() -> tokenizer.encode(new byte[] {'a', (byte) 0xFF}))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the text is not UTF-8");
        tokenizer.close();
        tokenizer.close();
        assertThatThrownBy(() -> tokenizer.encode(new byte[] {'a'})).hasMessageContaining("is closed");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{                                                        | tokenizer.json, line 1, column 2: found the end, expected",
                "{}                                                       | lacks 'model'",
                "{\"model\": {\"vocab\": {}}}                             | has no tokens",
                "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}}  | is not a valid tokenizer: ",
                "{\"model\": {\"vocab\": {\"a\": -1}}}                    | a has the token number -1, expected 0 to",
                "{\"model\": {\"vocab\": {\"a\": 99999999999}}}           | a has the token number 99999999999, expected 0 to",
                "{\"model\": {\"vocab\": {\"a\": 2147483648}}}            | a has the token number 2147483648, expected 0 to",
                "{\"model\": {\"vocab\": {\"a\": 0}}, \"added_tokens\": [{\"id\": 2147483648}]} | has the token number 2147483648, expected",
                "{\"model\": {\"vocab\": {\"a\": 0}}, \"added_tokens\": [{\"id\": 2147483647}]} | has the token number 2147483647, expected",
                "{\"model\": {\"vocab\": {\"a\": \"b\"}}}                 | : 'a' is 'b', expected a whole number"
            })
    void anUnusableFileIsOneLine(String json, String message) throws IOException {
        Path file = Files.writeString(folder.resolve("tokenizer.json"), json);
        assertThatThrownBy(() -> open(file))
                .isInstanceOf(DataException.class)
                .message()
                .contains(message)
                .doesNotContain("\n");
    }

    /** Changes of single bytes, cuts, and copies of parts to other places. */
    @Test
    void hostileFilesAreReadOrRefusedInOneLine() throws IOException {
        SplittableRandom random = new SplittableRandom(Long.getLong("jrun.test.seed", 1));
        byte[] text = "hello the world".getBytes(StandardCharsets.UTF_8);
        int refused = 0;
        for (int i = 0; i < HOSTILE; i++) {
            String name = new String[] {"bpe", "wordpiece", "unigram"}[i % 3];
            byte[] bytes = mutate(Files.readAllBytes(resource(name + ".json")), random);
            Path file = Files.write(folder.resolve("tokenizer.json"), bytes);
            try (Tokenizer tokenizer = open(file)) {
                assertThat(tokenizer.encode(text)).isNotNull();
            } catch (DataException | IllegalArgumentException e) {
                assertThat(e.getMessage()).as("case %d", i).doesNotContain("\n").hasSizeLessThan(1000);
                refused++;
            }
        }
        assertThat(refused).isGreaterThan(HOSTILE / 4);
    }

    private static byte[] mutate(byte[] bytes, SplittableRandom random) {
        int at = random.nextInt(bytes.length);
        switch (random.nextInt(4)) {
            case 0 -> bytes[at] = (byte) random.nextInt(32, 127);
            case 1 -> bytes[at] = (byte) ('0' + random.nextInt(10));
            case 2 -> {
                return Arrays.copyOf(bytes, at);
            }
            default -> {
                int length = random.nextInt(Math.min(40, bytes.length - at) + 1);
                System.arraycopy(bytes.clone(), at, bytes, random.nextInt(bytes.length - length + 1), length);
            }
        }
        return bytes;
    }

    private static Tokenizer open(Path file) {
        return new HuggingFaceProvider().open(file);
    }

    private static String string(String json) {
        return JsonObject.parse("golden", "{\"a\":" + json + "}").text("a").orElseThrow();
    }

    private static List<String> list(String json) {
        return JsonObject.parse("golden", "{\"a\":" + json + "}").texts("a");
    }

    private static Path resource(String name) {
        return Path.of(Objects.requireNonNull(HuggingFaceTokenizerTest.class.getResource(name))
                .getPath());
    }
}
