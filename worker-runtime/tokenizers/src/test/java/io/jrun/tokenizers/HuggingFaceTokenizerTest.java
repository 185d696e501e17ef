package io.jrun.tokenizers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.data.DataException;
import io.jrun.train.json.JsonObject;
import io.jrun.train.token.Tokenizer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
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
                "{\"model\": {\"vocab\": {\"a\": \"b\"}}}                 | : 'a' is b, expected a whole number"
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

    private static Path resource(String name) {
        return Path.of(Objects.requireNonNull(HuggingFaceTokenizerTest.class.getResource(name))
                .getPath());
    }
}
