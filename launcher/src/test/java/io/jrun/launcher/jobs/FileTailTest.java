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
        tail.copyTo(out, gap -> out.writeBytes(("gap " + gap + "\n").getBytes(StandardCharsets.US_ASCII)));
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

    @ParameterizedTest
    @CsvSource({"1, d/", "2, c/d/", "3, gap 4/b/c/d/", "9, gap 4/b/c/d/"})
    void aTailOverSeveralFilesSaysWhatIsGone(int lines, String expected) throws IOException {
        Files.writeString(folder.resolve("file.000000000000004"), "b\n");
        Files.writeString(folder.resolve("file.000000000000006"), "c\n");
        Path file = Files.writeString(folder.resolve("file"), "d\n");
        assertThat(read(FileTail.ofLastLines(file, lines))).isEqualTo(expected);
        assertThat(read(new FileTail(file))).isEqualTo("gap 4/b/c/d/");
        assertThat(read(FileTail.ofLineAt(file, 7))).isEqualTo("c/d/");
        assertThat(read(FileTail.ofLineAt(file, 2))).isEqualTo("gap 4/b/c/d/");
    }

    @Test
    void aReaderThatFallsBehindSaysWhatIsGone() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "a\nb");
        FileTail tail = new FileTail(file);
        assertThat(read(tail)).isEqualTo("a/b");
        Files.move(file, folder.resolve("file.000000000000000"));
        assertThat(read(tail)).isEmpty();
        Files.writeString(file, "c\n");
        assertThat(read(tail)).isEqualTo("c/");
        Files.delete(folder.resolve("file.000000000000000"));
        Files.writeString(folder.resolve("file.000000000000009"), "d\n");
        Files.writeString(file, "e\n");
        assertThat(read(tail)).isEqualTo("gap 4/d/e/");
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
