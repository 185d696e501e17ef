package io.jrun.comm.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files that a user may name by mistake, or that another user has put in place of a file. */
@Timeout(20)
class UserFileTest {
    @TempDir
    Path folder;

    @Test
    void aRegularFileIsReadAlsoThroughALink() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "zwölf");
        Path link = Files.createSymbolicLink(folder.resolve("link"), file);
        assertThat(UserFile.text(link, 6)).isEqualTo("zwölf");
        assertThat(UserFile.open(file).size()).isEqualTo(6);
    }

    @ParameterizedTest
    @CsvSource({"{}, {}", "\uFEFF{}, {}", "\uFEFF\uFEFF{}, \uFEFF{}", "\uFEFF, ''"})
    void aByteOrderMarkAtTheBeginningIsNoText(String content, String text) throws IOException {
        assertThat(UserFile.text(Files.writeString(folder.resolve("file"), content), 100))
                .isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({
        "pipe, 'it is a pipe, not a regular file'",
        "folder, 'it is a folder, not a regular file'",
        "/dev/zero, 'it is a device, not a regular file'",
        "dangling, it is a link to a file that does not exist",
        "missing, it does not exist",
        "large, 'it has more than 5 bytes, the limit of such a file'",
        "latin1, line 1 is not UTF-8 text"
    })
    void otherThingsAreOneLineAtOnce(String name, String reason) throws Exception {
        assertThat(new ProcessBuilder("mkfifo", folder.resolve("pipe").toString())
                        .start()
                        .waitFor())
                .isZero();
        Files.createDirectory(folder.resolve("folder"));
        Files.createSymbolicLink(folder.resolve("dangling"), folder.resolve("nothing"));
        Files.writeString(folder.resolve("large"), "123456");
        Files.write(folder.resolve("latin1"), new byte[] {'z', (byte) 0xF6});
        Path file = folder.resolve(name);
        IOException failure = catchThrowableOfType(IOException.class, () -> UserFile.text(file, 5));
        assertThat(FileError.reason(failure, file)).isEqualTo(reason);
        assertThat(FileError.reason(failure, folder)).isEqualTo(file + ": " + reason);
    }

    @Test
    void aFolderInThePlaceOfADanglingLinkIsNoFolderThatExists() throws IOException {
        Path link = Files.createSymbolicLink(folder.resolve("link"), folder.resolve("nothing"));
        IOException failure = catchThrowableOfType(IOException.class, () -> Files.createDirectories(link));
        assertThat(FileError.reason(failure, link)).isEqualTo("it is a link to a file that does not exist");
        Files.createFile(folder.resolve("nothing"));
        assertThat(FileError.reason(failure, link)).isEqualTo("it exists already");
    }

    @Test
    void reasonsHaveOneLineAndNoClassName() {
        assertThat(FileError.reason(new EOFException())).isEqualTo("EOF");
        assertThat(FileError.reason(new IOException(new java.nio.file.NoSuchFileException("x"))))
                .isEqualTo("it does not exist");
        assertThat(FileError.reason(new IOException("one\nFAILED: \u001b[31mtwo")))
                .isEqualTo("one FAILED: ?[31mtwo");
    }
}
