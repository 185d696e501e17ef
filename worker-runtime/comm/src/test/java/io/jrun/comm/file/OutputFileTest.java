package io.jrun.comm.file;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Names that must not be replaced by a file. */
@Timeout(20)
class OutputFileTest {
    @TempDir
    Path folder;

    @Test
    void aFileIsReplacedAndALinkStays() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "earlier");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), file);
        OutputFile.replace(link, "new".getBytes(UTF_8));
        assertThat(link).isSymbolicLink();
        assertThat(file).hasContent("new");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .as("a private file stays private")
                .isEqualTo("rw-------");
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).as("no temporary file stays").containsExactlyInAnyOrder(file, link);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "pipe, 'it is a pipe, not a regular file', 'it is a pipe, not a folder'",
        "folder, 'it is a folder, not a regular file', ''",
        "/dev/full, 'it is a device, not a regular file', 'it is a device, not a folder'",
        "dangling, it is a link to a file that does not exist, it is a link to a file that does not exist"
    })
    void otherThingsAreLeftAsTheyAre(String name, String asFile, String asFolder) throws Exception {
        assertThat(new ProcessBuilder("mkfifo", folder.resolve("pipe").toString())
                        .start()
                        .waitFor())
                .isZero();
        Files.createDirectory(folder.resolve("folder"));
        Files.createSymbolicLink(folder.resolve("dangling"), folder.resolve("nothing"));
        Path file = folder.resolve(name);
        Object type = Files.getAttribute(file, "unix:mode", LinkOption.NOFOLLOW_LINKS);
        IOException failure =
                catchThrowableOfType(IOException.class, () -> OutputFile.replace(file, "new".getBytes(UTF_8)));
        assertThat(FileError.reason(failure, file)).isEqualTo(asFile);
        assertThat(Files.getAttribute(file, "unix:mode", LinkOption.NOFOLLOW_LINKS))
                .isEqualTo(type);
        IOException ofFolder = catchThrowableOfType(IOException.class, () -> OutputFile.requireWritableFolder(file));
        assertThat(ofFolder == null ? "" : FileError.reason(ofFolder, file)).isEqualTo(asFolder);
    }

    @Test
    void aFileSystemWithoutNewFilesIsNotCalledMissing() {
        Path file = Path.of("/proc/jrun/file");
        IOException made = catchThrowableOfType(IOException.class, () -> OutputFile.makeFolder(file));
        assertThat(FileError.reason(made, file)).isEqualTo("/proc/jrun: the file system takes no new files there");
        IOException tried = catchThrowableOfType(IOException.class, () -> OutputFile.requireWritable(file));
        assertThat(FileError.reason(tried, file)).isEqualTo("/proc: the file system takes no new files there");
    }

    @Test
    void makesTheFoldersAbove() throws Exception {
        Path deep = folder.resolve("a/b/c");
        OutputFile.makeFolder(deep);
        OutputFile.makeFolder(deep);
        assertThat(deep).isDirectory();
    }
}
