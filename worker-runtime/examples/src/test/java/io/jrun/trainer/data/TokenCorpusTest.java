package io.jrun.trainer.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.data.DataException;
import io.jrun.train.data.Dataset;
import io.jrun.train.token.ByteTokenizer;
import io.jrun.train.token.TextSource;
import io.jrun.train.token.TokenFile;
import io.jrun.train.token.TokenFileWriter;
import io.jrun.train.token.TokenIngestion;
import io.jrun.train.token.Tokenizer;
import io.jrun.trainer.arguments.CommandLineArguments;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TokenCorpusTest {
    @TempDir
    private Path folder;

    @Test
    void trainedAndHeldOutTokensAreTheWholeText() throws IOException {
        byte[] text = new byte[10_000];
        IntStream.range(0, text.length).forEach(i -> text[i] = (byte) (i % 100));
        Path file = Files.write(folder.resolve("a.txt"), text);
        AtomicInteger ranks = new AtomicInteger();
        LocalWorld.run(3, world -> {
            try (TokenCorpus corpus = TokenCorpus.load(options(), file, world)) {
                assertThat(corpus.trainingTokens()).isEqualTo(9000);
                assertThat(corpus.training(8999).size()).isEqualTo(1);
                assertThat(get(corpus.heldOut(999), 0)).hasSize(1000).startsWith(0, 1);
                assertThat(get(corpus.all(9999), 0)).hasSize(10_000);
                ranks.incrementAndGet();
            }
        });
        assertThat(ranks).hasValue(3);
        load(file, corpus -> assertThat(corpus.size()).isEqualTo(5000), "--max-bytes=5000");
    }

    @Test
    void tokenFilesOfAFolderAreReadInTheOrderOfTheirNames() throws IOException {
        Path tokens = Files.createDirectories(folder.resolve("tokens"));
        for (String name : List.of("a", "b")) {
            Path text = Files.writeString(folder.resolve(name + ".txt"), name.repeat(50));
            TokenIngestion.write(
                    new TextSource(text, Long.MAX_VALUE, "text"),
                    new ByteTokenizer(),
                    tokens.resolve(name + ".tokens"),
                    _ -> {});
        }
        load(tokens, corpus -> {
            assertThat(corpus.size()).isEqualTo(100);
            assertThat(corpus.isOfBytes()).isTrue();
            assertThat(corpus.tokenizer()).isEmpty();
            assertThat(corpus.training(39).size()).isEqualTo(2);
            assertThat(get(corpus.training(39), 0)).hasSize(40).containsOnly('a');
            assertThat(get(corpus.training(39), 1)).hasSize(40).containsOnly('b');
            assertThat(get(corpus.heldOut(9), 0)).hasSize(10).containsOnly('b');
        });
        load(
                tokens.resolve("a.tokens"),
                corpus -> assertThat(corpus.tokenizer()).isPresent(),
                "--tokenizer=bytes");
        Path hello = Path.of(Objects.requireNonNull(getClass().getResource("/io/jrun/examples/tokenizer.json"))
                .getPath());
        assertThatThrownBy(() -> load(tokens, _ -> {}, "--tokenizer=" + hello))
                .hasMessageContaining("a.tokens was made with another tokenizer than the one of --tokenizer.");
    }

    /** The last token, which only the evaluation reads. */
    @Test
    void aTokenBeyondTheVocabularyIsFoundBeforeTheTraining() throws IOException {
        Path file = folder.resolve("damaged.tokens");
        try (TokenFileWriter writer = TokenFileWriter.create(file, new ByteTokenizer())) {
            writer.add(new int[1000]);
            writer.commit();
        }
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length - 1] = 1;
        Files.write(file, bytes);
        assertThatThrownBy(() -> load(file, _ -> {}))
                .isInstanceOf(DataException.class)
                .hasMessage(
                        file + ": token 999 is 256, but the vocabulary has 256 tokens. The file is damaged. Write the"
                                + " file again from the text.");
    }

    /** The next job of this user removes the folder of a killed job. The text may be secret. */
    @Test
    void temporaryTokensAreThisUsersAloneAndAreRemoved() throws Exception {
        Path temp = Path.of(System.getProperty("java.io.tmpdir"));
        Path abandoned = Files.createTempDirectory(temp, "jrun-tokens-");
        Files.writeString(abandoned.resolve("lock"), "");
        Path text = Files.writeString(folder.resolve("text.txt"), "a text");
        List<String> seen = new ArrayList<>();
        Tokenizer watching = new WatchingTokenizer(() -> {
            try (Stream<Path> folders = Files.list(temp)) {
                for (Path each : folders.filter(
                                each -> each.getFileName().toString().startsWith("jrun-tokens-"))
                        .toList()) {
                    seen.add(PosixFilePermissions.toString(Files.getPosixFilePermissions(each)));
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        LocalWorld.run(1, world -> {
            try (TokenFile _ =
                    TemporaryTokenFile.encode(new TextSource(text, Long.MAX_VALUE, "text"), watching, world)) {
                assertThat(abandoned).doesNotExist();
            }
        });
        assertThat(seen).isNotEmpty().allMatch("rwx------"::equals);
    }

    @Test
    void unusableDataAreTheSameLineOnAllRanks() throws IOException {
        Path none = folder.resolve("none");
        assertThatThrownBy(() -> load(none, _ -> {}))
                .hasMessageContaining("the data " + none + " cannot be read: it does not exist");
        Path bad = Files.writeString(folder.resolve("a.jsonl"), "no json");
        AtomicInteger ranks = new AtomicInteger();
        LocalWorld.run(2, world -> {
            assertThatThrownBy(() -> TokenCorpus.load(options(), bad, world))
                    .isInstanceOf(DataException.class)
                    .hasMessage(bad + ", line 1, column 1: found 'no', expected a value");
            ranks.incrementAndGet();
        });
        assertThat(ranks).hasValue(2);
    }

    /** Looks at the files while the text is encoded. */
    private record WatchingTokenizer(Runnable look) implements Tokenizer {
        private static final Tokenizer BYTES = new ByteTokenizer();

        @Override
        public int[] encode(byte[] text) {
            look.run();
            return BYTES.encode(text);
        }

        @Override
        public byte[] decode(int[] tokens) {
            return BYTES.decode(tokens);
        }

        @Override
        public int vocabulary() {
            return BYTES.vocabulary();
        }

        @Override
        public OptionalInt endOfText() {
            return BYTES.endOfText();
        }

        @Override
        public String id() {
            return BYTES.id();
        }

        @Override
        public void close() {}
    }

    private static void load(Path data, Consumer<TokenCorpus> check, String... args) {
        LocalWorld.run(1, world -> {
            try (TokenCorpus corpus = TokenCorpus.load(options(args), data, world)) {
                check.accept(corpus);
            }
        });
    }

    private static DataOptions options(String... args) {
        return DataOptions.of(CommandLineArguments.parse(args, DataOptions.VALUED, List.of()), Long.MAX_VALUE);
    }

    private static int[] get(Dataset<long[]> dataset, long index) {
        try {
            return Arrays.stream(dataset.get(index)).mapToInt(Math::toIntExact).toArray();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
