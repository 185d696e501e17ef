package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FileTailTest {
    @TempDir
    private Path folder;

    private static String read(FileTail tail) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        tail.copyTo(out);
        return out.toString(StandardCharsets.UTF_8).replace("\n", "/");
    }

    @ParameterizedTest
    @CsvSource({
        "a/b/c/, 0, ''",
        "a/b/c/, 1, c/",
        "a/b/c/, 2, b/c/",
        "a/b/c/, 3, a/b/c/",
        "a/b/c/, 9, a/b/c/",
        "a/b/c, 1, c",
        "a/b/c, 2, b/c",
        "//, 1, /",
        "'', 1, ''",
    })
    void theLastLinesAreReadAndThenWhatIsAdded(String text, int lines, String expected) throws IOException {
        Path file = Files.writeString(folder.resolve("file"), text.replace('/', '\n'));
        FileTail tail = FileTail.ofLastLines(file, lines);
        assertThat(read(tail)).isEqualTo(expected);
        Files.writeString(file, "d\n", StandardOpenOption.APPEND);
        assertThat(read(tail)).isEqualTo("d/");
    }

    @ParameterizedTest
    @CsvSource({
        "ab/cd/, 0, ab/cd/",
        "ab/cd/, 2, ab/cd/",
        "ab/cd/, 3, cd/",
        "ab/cd/, 5, cd/",
        "ab/cd/, 6, ''",
        "ab/cd, 99, cd"
    })
    void theLineOfAnOffsetIsReadFromItsBeginning(String text, long offset, String expected) throws IOException {
        Path file = Files.writeString(folder.resolve("file"), text.replace('/', '\n'));
        assertThat(read(FileTail.ofLineAt(file, offset))).isEqualTo(expected);
    }

    /** Longer than the block in which the file is read backwards. */
    @Test
    void theLastLinesMayBeLong() throws IOException {
        String line = "x".repeat(100_000) + "\n";
        Path file = Files.writeString(folder.resolve("file"), "first\n" + line + line);
        assertThat(read(FileTail.ofLastLines(file, 2))).isEqualTo((line + line).replace("\n", "/"));
        assertThat(read(FileTail.ofLastLines(file, 3))).startsWith("first/x");
    }
}
