package io.jrun.launcher.view;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tail and the search of the dashboard over the files that {@code --log-limit} has kept. */
class LogTailTest {
    private static final String GONE = "[jrun: 4 bytes of this output are gone, by --log-limit]";

    @TempDir
    private Path folder;

    private Path log;

    @BeforeEach
    void write() throws IOException {
        log = folder.resolve("stdout.log");
        Files.writeString(full(4), "two\nthr");
        Files.writeString(log, "ee\nfour\n");
    }

    private Path full(int start) {
        return folder.resolve("stdout.log.00000000000000" + start);
    }

    private static List<String> read(LogTail tail, long firstBytes) throws IOException {
        List<String> lines = new ArrayList<>();
        tail.read(firstBytes, false, lines::add);
        return lines;
    }

    @Test
    void theTailGoesOverFilesAndSaysWhatIsGone() throws IOException {
        assertThat(read(new LogTail(log), 1000)).containsExactly(GONE, "two", "three", "four");
        assertThat(read(new LogTail(log), 9)).containsExactly("four");
    }

    @Test
    void aTailGoesOnWhenTheFilesChange() throws IOException {
        LogTail tail = new LogTail(log);
        assertThat(read(tail, 1000)).hasSize(4);
        Files.writeString(log, "fi", StandardOpenOption.APPEND);
        assertThat(read(tail, 1000)).isEmpty();
        Files.move(log, folder.resolve("stdout.log.000000000000011"));
        Files.delete(full(4));
        assertThat(read(tail, 1000)).isEmpty();
        Files.writeString(log, "ve\n");
        assertThat(read(tail, 1000)).containsExactly("five");
        Files.delete(folder.resolve("stdout.log.000000000000011"));
        Files.move(log, folder.resolve("stdout.log.000000000000028"));
        Files.writeString(log, "seven\n");
        assertThat(read(tail, 1000))
                .containsExactly("[jrun: 4 bytes of this output are gone, by --log-limit]", "ve", "seven");
    }

    @Test
    void aLogWithoutAFileHasNoLines() throws IOException {
        assertThat(read(new LogTail(folder.resolve("stderr.log")), 1000)).isEmpty();
    }

    @Test
    void theSearchFindsALineThatLiesInTwoFiles() throws IOException {
        List<String> found = new ArrayList<>();
        assertThat(new LogSearch("EE").read(log, 1000, 10, found::add)).isEqualTo("two\nthree\nfour\n".length());
        assertThat(found).containsExactly("three");
    }
}
