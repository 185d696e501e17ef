package io.jrun.launcher.flight;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.record.RankRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DumpFolderTest {
    @TempDir
    private Path folder;

    private static RankRecord record(int rank, int round) {
        return new RankRecord(
                rank, 3, "h", 4, round, 5, "SYSTEM: why", List.of(), List.of(), true, Optional.empty(), "");
    }

    private void dump(String attempt, RankRecord record) throws IOException {
        dump(attempt, "rank-0001", record);
    }

    private void dump(String attempt, String rank, RankRecord record) throws IOException {
        write(attempt, rank, record.encoded());
    }

    private void write(String attempt, String rank, byte[] bytes) throws IOException {
        Path place = Files.createDirectories(folder.resolve(attempt).resolve(rank));
        Files.write(place.resolve("flight.bin"), bytes);
    }

    @Test
    void theLastAttemptIsReadAndOthersByName() throws IOException {
        dump("attempt-2", record(1, 3));
        dump("attempt-10", record(1, 11));
        DumpFolder last = DumpFolder.read(folder);
        assertThat(last.folder()).isEqualTo(folder.resolve("attempt-10"));
        assertThat(last.missing()).containsExactly(0, 2);
        assertThat(last.dumps()).containsExactly(record(1, 11));
        assertThat(DumpFolder.read(folder.resolve("attempt-2")).dumps()).containsExactly(record(1, 3));
    }

    @Test
    void aProcessOfAnEarlierAttemptIsFoundInThatAttempt() throws IOException {
        dump("attempt-0", "rank-0000", record(0, 2)); // went on, and has dumped again
        dump("attempt-0", "rank-0001", record(1, 1));
        dump("attempt-0", "rank-0002", record(1, 2)); // went on, as another rank
        dump("attempt-1", "rank-0002", record(2, 2));
        for (Path given : List.of(folder, folder.resolve("attempt-1"))) {
            DumpFolder last = DumpFolder.read(given);
            assertThat(last.dumps()).extracting(RankRecord::rank).containsExactly(0, 1, 2);
            assertThat(last.dumps()).extracting(RankRecord::round).containsOnly(2);
            assertThat(last.folder()).isEqualTo(given);
        }
        assertThat(DumpFolder.read(folder.resolve("attempt-0")).dumps())
                .extracting(RankRecord::rank)
                .containsExactly(1);
    }

    @Test
    void attemptsBeforeTheLastDoNotStandInForIt() throws IOException {
        dump("attempt-0", record(1, 1));
        Files.createDirectories(folder.resolve("attempt-1/rank-0001"));
        assertThatThrownBy(() -> DumpFolder.read(folder))
                .hasMessageStartingWith("no rank has left a flight.bin of attempt 1 in " + folder + ": ");
    }

    @Test
    void aFolderWithoutDumpsIsReportedInOneLine() {
        assertThatThrownBy(() -> DumpFolder.read(Path.of("/"))).isInstanceOf(DumpException.class);
        assertThatThrownBy(() -> DumpFolder.read(folder.resolve("nowhere")))
                .isInstanceOf(DumpException.class)
                .hasMessage(folder + "/nowhere is not a directory; expected the log folder of a job, LOG_DIR/RUN_ID.");
        assertThatThrownBy(() -> DumpFolder.read(folder))
                .isInstanceOf(DumpException.class)
                .hasMessageStartingWith("no rank has left a flight.bin in " + folder + ": ");
    }

    @Test
    void aDamagedDumpIsReportedInOneLine() throws IOException {
        byte[] whole = record(1, 1).encoded();
        for (byte[] bytes : List.of(new byte[0], "{}".getBytes(UTF_8), Arrays.copyOf(whole, whole.length - 1))) {
            write("attempt-0", "rank-0001", bytes);
            assertThatThrownBy(() -> DumpFolder.read(folder))
                    .isInstanceOf(DumpException.class)
                    .hasMessageStartingWith(folder + "/attempt-0/rank-0001/flight.bin is no flight recorder's dump of")
                    .message()
                    .hasLineCount(1);
        }
    }
}
