package io.jrun.launcher.flight;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DumpFolderTest {
    private static final String HEADER =
            "{\"flightRecorder\":1,\"rank\":1,\"worldSize\":3,\"host\":\"h\",\"pid\":4,\"round\":1,"
                    + "\"reason\":\"SYSTEM: why\",\"startMillis\":5,\"dumpNanos\":9000,\"operations\":1,\"kept\":1}\n";
    private static final String GROUP = "{\"group\":\"world\",\"ranks\":[0, 1, 2],\"started\":1,\"completed\":0}\n";
    private static final String OPERATION = "{\"group\":\"world\",\"sequence\":0,\"op\":\"barrier\",\"type\":\"i64\","
            + "\"count\":0,\"bytes\":0,\"call\":\"barrier #0\",\"state\":\"started\",\"queuedNanos\":7,\"startedNanos\":1000}\n";

    @TempDir
    private Path folder;

    private static String header(int rank, int round) {
        return HEADER.replace("\"rank\":1", "\"rank\":" + rank).replace("\"round\":1", "\"round\":" + round);
    }

    private void dump(String attempt, String text) throws IOException {
        dump(attempt, "rank-0001", text);
    }

    private void dump(String attempt, String rank, String text) throws IOException {
        Path place = Files.createDirectories(folder.resolve(attempt).resolve(rank));
        Files.writeString(place.resolve("flight.json"), text);
    }

    @Test
    void theLastAttemptIsReadAndOthersByName() throws IOException {
        dump("attempt-2", header(1, 3));
        dump("attempt-10", header(1, 11) + GROUP + OPERATION);
        DumpFolder last = DumpFolder.read(folder);
        assertThat(last.folder()).isEqualTo(folder.resolve("attempt-10"));
        assertThat(last.missing()).containsExactly(0, 2);
        Dump dump = last.dumps().getFirst();
        assertThat(dump.rank()).isEqualTo(1);
        assertThat(dump.started("world")).isEqualTo(1);
        assertThat(dump.operations()).singleElement().satisfies(operation -> {
            assertThat(operation.call()).isEqualTo("barrier #0");
            assertThat(operation.isUnfinished()).isTrue();
            assertThat(operation.waitedNanos()).isEqualTo(8000);
        });
        assertThat(DumpFolder.read(folder.resolve("attempt-2"))
                        .dumps()
                        .getFirst()
                        .operations())
                .isEmpty();
    }

    @Test
    void whoGoesOnFromAnEarlierAttemptIsFoundInThatOne() throws IOException {
        dump("attempt-0", "rank-0000", header(0, 2)); // went on, and has dumped again
        dump("attempt-0", "rank-0001", header(1, 1));
        dump("attempt-0", "rank-0002", header(1, 2)); // went on, as another rank
        dump("attempt-1", "rank-0002", header(2, 2));
        for (Path given : List.of(folder, folder.resolve("attempt-1"))) {
            DumpFolder last = DumpFolder.read(given);
            assertThat(last.dumps()).extracting(Dump::rank).containsExactly(0, 1, 2);
            assertThat(last.dumps()).extracting(Dump::round).containsOnly(2);
            assertThat(last.folder()).isEqualTo(given);
        }
        assertThat(DumpFolder.read(folder.resolve("attempt-0")).dumps())
                .extracting(Dump::rank)
                .containsExactly(1);
    }

    @Test
    void attemptsBeforeTheLastDoNotStandInForIt() throws IOException {
        dump("attempt-0", header(1, 1));
        Files.createDirectories(folder.resolve("attempt-1/rank-0001"));
        assertThatThrownBy(() -> DumpFolder.read(folder))
                .hasMessageStartingWith("no rank has left a flight.json of attempt 1 in " + folder + ": ");
    }

    @Test
    void aFolderWithoutDumpsIsToldInOneLine() {
        assertThatThrownBy(() -> DumpFolder.read(Path.of("/"))).isInstanceOf(DumpException.class);
        assertThatThrownBy(() -> DumpFolder.read(folder.resolve("nowhere")))
                .isInstanceOf(DumpException.class)
                .hasMessage(folder + "/nowhere is not a directory; expected the log folder of a job, LOG_DIR/RUN_ID.");
        assertThatThrownBy(() -> DumpFolder.read(folder))
                .isInstanceOf(DumpException.class)
                .hasMessageStartingWith("no rank has left a flight.json in " + folder + ": ");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "[]",
                "{\"flightRecorder\":2}",
                HEADER + "{\"op\":\"barrier\"}",
                HEADER + "{\"group\":3}"
            })
    void aDamagedDumpIsToldInOneLine(String text) throws IOException {
        dump("attempt-0", text);
        assertThatThrownBy(() -> DumpFolder.read(folder))
                .isInstanceOf(DumpException.class)
                .hasMessageStartingWith(folder + "/attempt-0/rank-0001/flight.json, line ")
                .hasMessageContaining("is no flight recorder's dump of this version: ")
                .message()
                .hasLineCount(1);
    }
}
