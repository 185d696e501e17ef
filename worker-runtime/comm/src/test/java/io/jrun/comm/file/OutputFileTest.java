package io.jrun.comm.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class OutputFileTest {
    @TempDir
    private Path folder;

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
