package io.jrun.examples.gpt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.IntStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CorpusTest {
    @TempDir
    private Path folder;

    @BeforeAll
    static void libtorch() {
        Libtorch.load();
    }

    @Test
    void aFolderAndAZipOfItAreTheSameText() throws IOException {
        Path tree = Files.createDirectories(folder.resolve("tree"));
        Path zip = folder.resolve("tree.zip");
        try (OutputStream file = Files.newOutputStream(zip);
                ZipOutputStream out = new ZipOutputStream(file)) {
            for (int i = 0; i < 20; i++) {
                byte[] text = ("file " + i + " ").repeat(50).getBytes(StandardCharsets.UTF_8);
                Files.write(tree.resolve("f" + i + ".txt"), text);
                out.putNextEntry(new ZipEntry("f" + i + ".txt"));
                out.write(text);
            }
            Files.write(tree.resolve("image.png"), new byte[1000]);
            out.putNextEntry(new ZipEntry("image.png"));
            out.write(new byte[1000]);
        }
        Corpus fromFolder = load("--data=" + tree);
        Corpus fromZip = load("--data=" + zip);
        assertThat(fromFolder.train()).isEqualTo(fromZip.train());
        assertThat(fromFolder.heldOut()).isEqualTo(fromZip.heldOut());
        assertThat(new String(fromFolder.train(), StandardCharsets.UTF_8)).doesNotContain("\0");
    }

    @Test
    void trainedAndHeldOutBytesAreTheWholeText() throws IOException {
        byte[] text = new byte[10_000];
        IntStream.range(0, text.length).forEach(i -> text[i] = (byte) i);
        Corpus corpus = load("--data=" + Files.write(folder.resolve("a.txt"), text));
        assertThat(corpus.trainBytes()).isEqualTo(9000);
        assertThat(corpus.heldOut()).hasSize(1000).startsWith((byte) 9000);
        assertThat(load("--data=" + folder.resolve("a.txt"), "--max-bytes=5000").train())
                .hasSize(4500);
    }

    @Test
    void theJdksSourcesAreTheDefault() {
        Corpus corpus = load("--max-bytes=100000");
        assertThat(new String(corpus.train(), StandardCharsets.UTF_8)).contains("import java.");
    }

    @Test
    void whatCannotBeReadIsOneLineThatNamesData() throws IOException {
        assertThatThrownBy(() -> load("--data=" + folder.resolve("none")))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("--data")
                .hasMessageContaining("does not exist");
        Path small = Files.writeString(folder.resolve("small.txt"), "too little");
        assertThatThrownBy(() -> load("--data=" + small))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("has 10 bytes of text");
    }

    @Test
    void windowsDoNotOverlapAndTargetsAreOneAhead() {
        byte[] text = "abcdefghij".getBytes(StandardCharsets.UTF_8);
        Windows windows = new Windows(text, 3);
        assertThat(windows.count()).isEqualTo(3);
        Windows.Batch batch = windows.batch(new long[] {2, 0});
        long[] inputs = new long[6];
        long[] targets = new long[6];
        batch.inputs().data_ptr_long().get(inputs);
        batch.targets().data_ptr_long().get(targets);
        assertThat(inputs).containsExactly('g', 'h', 'i', 'a', 'b', 'c');
        assertThat(targets).containsExactly('h', 'i', 'j', 'b', 'c', 'd');
        assertThat(new Windows("abc".getBytes(StandardCharsets.UTF_8), 3).count())
                .isZero();
    }

    @Test
    void theBigramModelPredictsAByteFromTheByteBeforeItByCountingInTheTrainingText() {
        byte[] alternating = "ab".repeat(10_000).getBytes(StandardCharsets.UTF_8);
        BigramModel model = new BigramModel(alternating);
        double likely = Math.log((10_000 + 256.0) / (10_000 + 1.0)); // 10,000 pairs "ab", and one for each of 256 pairs
        assertThat(model.loss("abx".getBytes(StandardCharsets.UTF_8), 1)).isCloseTo(likely, Offset.offset(1e-12));
        assertThat(model.loss("xy".getBytes(StandardCharsets.UTF_8), 1))
                .as("a byte that the training text does not have")
                .isCloseTo(Math.log(256), Offset.offset(1e-12));
        assertThat(model.loss("xyz".getBytes(StandardCharsets.UTF_8), 2))
                .isCloseTo(Math.log(256), Offset.offset(1e-12));
    }

    private static Corpus load(String... args) {
        return Corpus.load(GptOptions.parse(args).orElseThrow());
    }
}
