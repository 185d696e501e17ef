package io.jrun.train.token;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.data.DataException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TokenIngestionTest {
    private static final long NO_LIMIT = Long.MAX_VALUE;

    @TempDir
    private Path folder;

    @Test
    void aFolderAndAZipFileOfItAreTheSameText() throws IOException {
        Path tree = Files.createDirectories(folder.resolve("tree"));
        Path zip = folder.resolve("tree.zip");
        try (OutputStream file = Files.newOutputStream(zip);
                ZipOutputStream out = new ZipOutputStream(file)) {
            for (int i = 0; i < 20; i++) {
                byte[] text = ("file " + i + " ").repeat(50).getBytes(StandardCharsets.UTF_8);
                for (String name : List.of("f" + i + ".txt", "image" + i + ".png")) {
                    Files.write(tree.resolve(name), text);
                    out.putNextEntry(new ZipEntry(name));
                    out.write(text);
                }
            }
        }
        byte[] text = read(tree, NO_LIMIT);
        assertThat(text).isEqualTo(read(zip, NO_LIMIT)).hasSize(10 * 50 * 7 + 10 * 50 * 8);
        assertThat(new String(text, 0, 10, StandardCharsets.UTF_8))
                .as("the order of the names is random")
                .isNotEqualTo("file 0 fil");
        assertThat(read(zip, 1000)).isEqualTo(Arrays.copyOf(text, 1000));
    }

    @ParameterizedTest
    @ValueSource(strings = {"lines", "one line", "bytes"})
    void aLargeFileIsReadInPartsAndLosesNothing(String kind) throws IOException {
        byte[] text = new byte[3_500_000];
        new SplittableRandom(2).nextBytes(text);
        if (!kind.equals("bytes")) {
            String unit = kind.equals("lines") ? "Grüße, 世界 🎉 and more\n" : "Grüße, 世界 🎉 ";
            text = unit.repeat(100_000).getBytes(StandardCharsets.UTF_8);
        }
        Path file = Files.write(folder.resolve("a.txt"), text);
        List<TextPart> parts = new ArrayList<>();
        assertThat(new TextSource(file, NO_LIMIT, "text").read(parts::add)).isEqualTo(text.length);
        assertThat(parts)
                .hasSizeGreaterThan(2)
                .allSatisfy(part -> assertThat(part.text()).hasSizeLessThan(2 << 20));
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (TextPart part : parts) {
            assertThat(part.endsDocument()).isEqualTo(part == parts.getLast());
            assertThat(part.location()).startsWith(file + ", bytes " + all.size() + " to ");
            all.writeBytes(part.text());
            if (kind.equals("lines")) {
                assertThat(part.text()[part.text().length - 1]).isEqualTo((byte) '\n');
            }
            if (!kind.equals("bytes")) {
                assertThat(new String(part.text(), StandardCharsets.UTF_8)).doesNotContain("\ufffd");
            }
        }
        assertThat(all.toByteArray()).isEqualTo(text);
    }

    @Test
    void theLimitDoesNotCutACharacter() throws IOException {
        Path file = Files.writeString(folder.resolve("a.txt"), "a世🎉b");
        for (int limit = 1; limit <= 9; limit++) {
            assertThat(new String(read(file, limit), StandardCharsets.UTF_8))
                    .isEqualTo(limit < 4 ? "a" : limit < 8 ? "a世" : limit < 9 ? "a世🎉" : "a世🎉b");
        }
    }

    @Test
    void jsonLinesMayBeginWithAByteOrderMark() throws IOException {
        Path file = Files.writeString(folder.resolve("a.jsonl"), "\uFEFF{\"text\":\"one\"}\n{\"text\":\"two\"}");
        assertThat(read(file, NO_LIMIT)).asString().isEqualTo("onetwo");
    }

    @Test
    void aLineOfJsonLinesIsADocument() throws IOException {
        Path file = folder.resolve("a.jsonl");
        Files.writeString(
                file, "{\"text\": \"one\\nü\", \"id\": 1}\n\n{\"id\": [2], \"text\": \"two\"}\r\n{\"text\":\"three\"}");
        List<TextPart> parts = new ArrayList<>();
        long _ = new TextSource(file, NO_LIMIT, "text").read(parts::add);
        assertThat(parts)
                .extracting(part -> new String(part.text(), StandardCharsets.UTF_8))
                .containsExactly("one\nü", "two", "three");
        assertThat(parts)
                .extracting(TextPart::location)
                .containsExactly(file + ", line 1", file + ", line 3", file + ", line 4");
        Path target = folder.resolve("out/a.tokens");
        List<TokenIngestion.IngestionProgress> progress = new ArrayList<>();
        TokenIngestion.IngestionProgress all = TokenIngestion.write(
                new TextSource(file, NO_LIMIT, "text"), new EndingTokenizer(), target, progress::add);
        assertThat(all).isEqualTo(new TokenIngestion.IngestionProgress(file.toString(), 14, 17));
        assertThat(progress).hasSize(3).contains(new TokenIngestion.IngestionProgress(file + ", line 3", 9, 11));
        try (TokenFile tokens = TokenFile.open(target)) {
            assertThat(tokens.read(5, 5)).containsExactly(0xBC, 256, 't', 'w', 'o');
            assertThat(tokens.read(16, 1)).containsExactly(256);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"text\": 3}   | , line 2: 'text' is 3, expected a string",
                "{\"body\": \"\"}| , line 2 lacks 'text'",
                "{\"text\": \"a  | , line 2, column 12: found the end, expected closing quote for a string value",
                "[1]             | , line 2, column 1: found '[', expected '{'",
                "{\"text\": \"A\\ud83dB\"}   | , line 2, column 10: the string has half a surrogate pair, \\ud83d",
                "{\"text\": \"\\ude00\"}      | , line 2, column 10: the string has half a surrogate pair, \\ude00",
                "{\"a\\ude00\": 1}            | , line 2, column 10: the key has half a surrogate pair"
            })
    void anUnusableRecordIsOneLineWithFileAndRecord(String line, String message) throws IOException {
        Path file = Files.writeString(folder.resolve("a.jsonl"), "{\"text\":\"fine\"}\n" + line + "\n");
        Path target = folder.resolve("a.tokens");
        assertThatThrownBy(() -> TokenIngestion.write(
                        new TextSource(file, NO_LIMIT, "text"), new ByteTokenizer(), target, _ -> {}))
                .isInstanceOf(DataException.class)
                .hasMessage(file + message);
        assertThat(folder).isDirectoryNotContaining(path -> !path.equals(file));
    }

    @Test
    void textThatIsNotThereIsOneLine() throws IOException {
        Path none = folder.resolve("none");
        assertThatThrownBy(() -> read(none, NO_LIMIT))
                .isInstanceOf(DataException.class)
                .hasMessageContaining("cannot read " + none);
        assertThatThrownBy(() -> read(folder, NO_LIMIT))
                .isInstanceOf(DataException.class)
                .hasMessageContaining(folder + " has no text. Give a file");
        Path bad = Files.writeString(folder.resolve("bad.zip"), "PK");
        assertThatThrownBy(() -> read(bad, NO_LIMIT))
                .isInstanceOf(DataException.class)
                .hasMessageContaining("cannot read " + bad);
        Path binary = Files.write(folder.resolve("b.jsonl"), new byte[] {'{', (byte) 0xFF, '}'});
        assertThatThrownBy(() -> read(binary, NO_LIMIT)).hasMessage(binary + ", line 1 is not UTF-8");
    }

    private static byte[] read(Path path, long limit) {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        long bytes = new TextSource(path, limit, "text").read(part -> text.writeBytes(part.text()));
        assertThat(bytes).isLessThanOrEqualTo(limit).isGreaterThanOrEqualTo(text.size());
        return text.toByteArray();
    }

    /** Bytes, and a token that ends a document. */
    private static final class EndingTokenizer implements Tokenizer {
        private final ByteTokenizer bytes = new ByteTokenizer();

        @Override
        public int[] encode(byte[] text) {
            return bytes.encode(text);
        }

        @Override
        public byte[] decode(int[] tokens) {
            return bytes.decode(tokens);
        }

        @Override
        public int vocabulary() {
            return 257;
        }

        @Override
        public OptionalInt endOfText() {
            return OptionalInt.of(256);
        }

        @Override
        public String id() {
            return TokenizerId.of("bytes and an end");
        }

        @Override
        public void close() {}
    }
}
