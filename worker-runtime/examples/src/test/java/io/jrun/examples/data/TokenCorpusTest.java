package io.jrun.examples.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.examples.options.CommandLineArguments;
import io.jrun.train.data.DataException;
import io.jrun.train.data.Dataset;
import io.jrun.train.token.ByteTokenizer;
import io.jrun.train.token.TextSource;
import io.jrun.train.token.TokenIngestion;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;
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

    @Test
    void unusableDataAreTheSameLineOnAllRanks() throws IOException {
        Path none = folder.resolve("none");
        assertThatThrownBy(() -> load(none, _ -> {})).hasMessageContaining("--data " + none + " does not exist");
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
