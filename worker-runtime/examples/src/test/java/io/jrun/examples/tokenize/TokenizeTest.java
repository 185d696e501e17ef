package io.jrun.examples.tokenize;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.data.DataException;
import io.jrun.train.token.TokenFile;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TokenizeTest {
    @TempDir
    private Path folder;

    @Test
    void textBecomesATokenFile() throws IOException {
        Path tokenizer = Path.of(Objects.requireNonNull(getClass().getResource("/io/jrun/examples/tokenizer.json"))
                .getPath());
        Path data = Files.writeString(folder.resolve("a.jsonl"), "{\"text\": \"hello world\"}\n".repeat(3));
        Path out = folder.resolve("a.tokens");
        assertThat(run("--data=" + data, "--out=" + out, "--tokenizer=" + tokenizer))
                .containsPattern("0\\.0 MB of text, 15 tokens, \\S+ MB/s\\Rwrote " + out + "\\R");
        try (TokenFile file = TokenFile.open(out)) {
            file.verify();
            assertThat(file.vocabulary()).isEqualTo(280);
            assertThat(file.read(0, 6)).containsExactly(267, 264, 275, 273, 0, 267);
        }
    }

    @Test
    void unusableArgumentsAndDataAreOneLine() {
        assertThat(run("--help")).startsWith("usage: jrun tokenize.jar --data=PATH --out=FILE.tokens");
        assertThatThrownBy(() -> run("--data=x"))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessage("--out=FILE is missing. See --help.");
        Path out = folder.resolve("a.tokens");
        assertThatThrownBy(() -> run("--data=" + folder.resolve("none"), "--out=" + out))
                .isInstanceOf(DataException.class)
                .hasMessageContaining("cannot read " + folder.resolve("none"));
        assertThat(folder).isEmptyDirectory();
    }

    private static String run(String... args) {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        Tokenize.run(args, new PrintStream(printed, true, StandardCharsets.UTF_8));
        return printed.toString(StandardCharsets.UTF_8);
    }
}
