package io.jrun.train.token;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import io.jrun.train.data.Batch;
import io.jrun.train.data.DataException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TokenFileTest {
    private static final int HOSTILE = Boolean.getBoolean("jrun.soak") ? 2_000 : 100;

    @TempDir
    private Path folder;

    @Test
    void theFormatIsAsDocumented() throws IOException {
        Path file = write(new ByteTokenizer(), 'j', 'r', 255);
        String header = "4a52554e544f4b53" + "01000000" + "02000000" + "0300000000000000" + "0001000000000000" + "%s"
                + "00000000" + new ByteTokenizer().id() + "00000000" + "%s";
        byte[] tokens = {'j', 0, 'r', 0, (byte) 255, 0};
        byte[] bytes = Files.readAllBytes(file);
        String expected = String.format(header, crc(tokens, 6), crc(bytes, 60))
                + HexFormat.of().formatHex(tokens);
        assertThat(HexFormat.of().formatHex(bytes)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(ints = {256, 65_536, 65_537, 1 << 30})
    void tokensOfEachSizeOfVocabularyComeBack(int vocabulary) throws IOException {
        int[] tokens = new SplittableRandom(1).ints(700_000, 0, vocabulary).toArray();
        tokens[699_999] = vocabulary - 1;
        Path path = write(new Vocabulary(vocabulary), tokens);
        try (TokenFile file = TokenFile.open(path)) {
            assertThat(file.size()).isEqualTo(tokens.length);
            assertThat(file.vocabulary()).isEqualTo(vocabulary);
            assertThat(file.read(0, tokens.length))
                    .isEqualTo(IntStream.of(tokens).asLongStream().toArray());
            assertThat(file.read(699_999, 1)).containsExactly(vocabulary - 1);
            file.verify();
        }
        assertThat(Files.size(path)).isEqualTo(64 + 700_000L * (vocabulary <= 65_536 ? 2 : 4));
    }

    @Test
    void windowsOfSeveralFilesOverlapByOneToken() throws IOException {
        Path first = write(new ByteTokenizer(), IntStream.range(0, 10).toArray());
        try (TokenFile a = TokenFile.open(first)) {
            TokenDataset dataset = TokenDataset.of(
                    List.of(
                            new TokenDataset.TokenRange(a, 0, 7),
                            new TokenDataset.TokenRange(a, 7, 2),
                            new TokenDataset.TokenRange(a, 2, 8)),
                    3);
            assertThat(dataset.size()).isEqualTo(4);
            assertThat(dataset.get(0)).containsExactly(0, 1, 2, 3);
            assertThat(dataset.get(1)).containsExactly(3, 4, 5, 6);
            assertThat(dataset.get(2)).containsExactly(2, 3, 4, 5);
            assertThat(dataset.get(3)).containsExactly(5, 6, 7, 8);
            assertThat(dataset.location(3)).isEqualTo(first + ", tokens 5 to 8");
            assertThat(TokenDataset.of(a, 10).size()).isZero();
            Libtorch.load();
            Batch batch = TokenBatch.of(List.of(dataset.get(3), dataset.get(0)));
            assertThat(values(batch.inputs())).containsExactly(5, 6, 7, 0, 1, 2);
            assertThat(values(batch.targets())).containsExactly(6, 7, 8, 1, 2, 3);
            assertThatThrownBy(() -> new TokenDataset.TokenRange(a, 3, 8)).hasMessageContaining("has 10 tokens, not 8");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0  | 4b               | it does not begin with the 64 bytes of a header",
                "8  | 02               | it has version 2, expected 1",
                "12 | 03000000         | a token has 3 bytes, expected 2 or 4",
                "12 | 04000000         | the header says 5 tokens of 4 bytes, but 10 bytes follow it. The file is not"
                        + " complete",
                "16 | 0600000000000000 | the header says 6 tokens of 2 bytes, but 10 bytes follow it. The file is not"
                        + " complete",
                "16 | ffffffffffffffff | the header says -1 tokens of 2 bytes, but 10 bytes follow it. The file is not"
                        + " complete",
                "24 | 0000000000000000 | the vocabulary has 0 tokens, expected 1 to 2147483648",
                "24 | 0000000001000000 | the vocabulary has 4294967296 tokens, expected 1 to 2147483648"
            })
    void eachBrokenRuleIsOneLine(int position, String change, String message) throws IOException {
        Path path = changed(position, change, true);
        assertThatThrownBy(() -> TokenFile.open(path))
                .isInstanceOf(DataException.class)
                .hasMessage(path + " is not a valid token file: " + message + ". Write the file again from the text.");
    }

    @Test
    void damageIsNoticed() throws IOException {
        assertThatThrownBy(() -> TokenFile.open(changed(17, "01", false)))
                .hasMessageContaining("the checksum of the header is wrong: the header is damaged");
        Path path = changed(66, "ff01", false);
        try (TokenFile file = TokenFile.open(path)) {
            assertThat(file.read(0, 1)).containsExactly(1);
            assertThatThrownBy(() -> file.read(0, 5))
                    .isInstanceOf(IOException.class)
                    .hasMessage("token 1 is 511, but the vocabulary has 256 tokens. The file is damaged");
            assertThatThrownBy(file::verify)
                    .isInstanceOf(DataException.class)
                    .hasMessageContaining(path + " is damaged");
        }
    }

    @Test
    void aFileThatBecomesShorterWhileItIsReadIsAnError() throws IOException {
        Path path = write(new ByteTokenizer(), new int[100_000]);
        try (TokenFile file = TokenFile.open(path)) {
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                channel.truncate(64);
            }
            assertThatThrownBy(() -> file.read(50_000, 100))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("the file became shorter");
        }
    }

    @Test
    void aFileAppearsOnlyWhenAllOfItIsWritten() throws IOException {
        Path path = write(new ByteTokenizer(), 1, 2, 3);
        try (TokenFileWriter writer = TokenFileWriter.create(path, new ByteTokenizer())) {
            writer.add(new int[2_000_000]);
            try (TokenFile earlier = TokenFile.open(path)) {
                assertThat(earlier.size()).isEqualTo(3);
            }
            assertThatThrownBy(() -> writer.add(256))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("the tokenizer gave token 256, but its vocabulary has 256 tokens");
        }
        try (var files = Files.list(folder)) {
            assertThat(files).containsExactly(path);
        }
    }

    @Test
    void changedFilesAreReadOrRefusedInOneLine() throws IOException {
        SplittableRandom random = new SplittableRandom(Long.getLong("jrun.test.seed", 1));
        byte[] good = Files.readAllBytes(write(new ByteTokenizer(), 1, 2, 3, 4, 5));
        for (int i = 0; i < HOSTILE; i++) {
            byte[] bytes = good.clone();
            for (int changes = 0; changes <= i % 4; changes++) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            System.arraycopy(HexFormat.of().parseHex(crc(bytes, 60)), 0, bytes, 60, 4);
            byte[] cut = i % 3 == 0 ? Arrays.copyOf(bytes, random.nextInt(bytes.length + 1)) : bytes;
            Path path = Files.write(folder.resolve("hostile.tokens"), cut);
            try (TokenFile file = TokenFile.open(path)) {
                assertThat(file.size()).isLessThanOrEqualTo(5);
                file.read(0, (int) file.size());
            } catch (DataException | IOException e) {
                assertThat(e.getMessage()).doesNotContain("\n").hasSizeLessThan(300);
            }
        }
    }

    private static long[] values(Tensor tensor) {
        long[] values = new long[(int) tensor.numel()];
        tensor.data_ptr_long().get(values);
        return values;
    }

    private Path changed(int position, String change, boolean withChecksum) throws IOException {
        Path path = write(new ByteTokenizer(), 1, 2, 3, 4, 5);
        byte[] bytes = Files.readAllBytes(path);
        byte[] replacement = HexFormat.of().parseHex(change);
        System.arraycopy(replacement, 0, bytes, position, replacement.length);
        if (withChecksum) {
            System.arraycopy(HexFormat.of().parseHex(crc(bytes, 60)), 0, bytes, 60, 4);
        }
        return Files.write(path, bytes);
    }

    /** CRC-32C, as the hexadecimal digits of its little-endian bytes. */
    private static String crc(byte[] bytes, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, length);
        return String.format("%08x", Integer.reverseBytes((int) crc.getValue()));
    }

    private Path write(Tokenizer tokenizer, int... tokens) throws IOException {
        Path path = folder.resolve("a.tokens");
        try (TokenFileWriter writer = TokenFileWriter.create(path, tokenizer)) {
            writer.add(tokens);
            writer.commit();
        }
        return path;
    }

    /** A vocabulary without text. */
    private record Vocabulary(int vocabulary) implements Tokenizer {
        @Override
        public int[] encode(byte[] text) {
            throw new UnsupportedOperationException();
        }

        @Override
        public byte[] decode(int[] tokens) {
            throw new UnsupportedOperationException();
        }

        @Override
        public OptionalInt endOfText() {
            return OptionalInt.empty();
        }

        @Override
        public String id() {
            return TokenizerId.of("test");
        }

        @Override
        public void close() {}
    }
}
