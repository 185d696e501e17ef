package io.jrun.agent.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogTimesTest {
    @TempDir
    private Path folder;

    private Path log() {
        return folder.resolve("stdout.log");
    }

    @Test
    void eachByteHasTheSecondInWhichItWasWritten() throws IOException {
        long before = Instant.now().getEpochSecond();
        Files.writeString(folder.resolve("stdout.log.times"), "of an earlier attempt");
        try (LogFile file = new LogFile(log(), Optional.empty(), () -> {})) {
            for (String line : new String[] {"one\n", "two\n"}) {
                file.write(line.getBytes(StandardCharsets.US_ASCII), 0, line.length());
            }
        }
        LogTimes times = LogTimes.read(log()).orElseThrow();
        assertThat(times.secondAt(0).orElseThrow())
                .isBetween(before, Instant.now().getEpochSecond());
        assertThat(times.secondAt(7).orElseThrow())
                .isBetween(times.secondAt(0).orElseThrow(), Instant.now().getEpochSecond());
        assertThat(times.offsetAt(before * 1000)).isZero();
        assertThat(times.offsetAt((before + 3600) * 1000)).isEqualTo(Long.MAX_VALUE);
        assertThat(LogTimes.read(folder.resolve("stderr.log"))).isEmpty();
    }

    @Test
    void offsetsAndTimesAreFoundBetweenPairs() throws IOException {
        ByteBuffer pairs = ByteBuffer.allocate(56); // the last pair is not whole
        pairs.putLong(10_400)
                .putLong(0)
                .putLong(12_999)
                .putLong(100)
                .putLong(20_000)
                .putLong(100)
                .putLong(21_000);
        Files.write(folder.resolve("stdout.log.times"), pairs.array());
        LogTimes times = LogTimes.read(log()).orElseThrow();
        assertThat(times.secondAt(99)).contains(10L);
        assertThat(times.secondAt(100)).contains(20L);
        assertThat(times.secondAt(5000)).contains(20L);
        assertThat(times.offsetAt(10_999)).isZero();
        assertThat(times.offsetAt(11_000)).isEqualTo(100);
        assertThat(times.offsetAt(13_000)).isEqualTo(100);
        assertThat(times.offsetAt(21_000)).isEqualTo(Long.MAX_VALUE);
    }
}
