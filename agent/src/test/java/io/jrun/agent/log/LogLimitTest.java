package io.jrun.agent.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Logs of several files. The content of each byte follows from its offset: see {@link LimitedLogWriterMain}. */
@Timeout(120)
class LogLimitTest {
    private static final LogLimit LIMIT = new LogLimit(LogLimit.LEAST_BYTES, 3);
    private static final long LINE = LimitedLogWriterMain.LINE_BYTES;
    private static final int KILLS = Boolean.getBoolean("jrun.soak") ? 100 : 4;

    @TempDir
    private Path folder;

    private Path log() {
        return folder.resolve("stdout.log");
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().matches(".*stdout\\.log(\\.[0-9]+)?"))
                    .sorted()
                    .toList();
        }
    }

    private static void write(LogFile file, long from, long to) throws IOException {
        byte[] bytes = LimitedLogWriterMain.bytes(from, (int) (to - from));
        file.write(bytes, 0, bytes.length);
    }

    /** The offsets of the first byte and behind the last byte; all bytes between are checked. */
    private static long[] checkedRange(Path log) throws IOException {
        try (LogBytes bytes = new LogBytes(log)) {
            long begin = bytes.firstKept(0);
            long at = begin;
            ByteBuffer buffer = ByteBuffer.allocate(1000);
            for (int count = bytes.read(buffer, at); count != 0; count = bytes.read(buffer.clear(), at)) {
                assertThat(count).isPositive();
                assertThat(buffer.flip()).isEqualTo(ByteBuffer.wrap(LimitedLogWriterMain.bytes(at, count)));
                at += count;
            }
            assertThat(bytes.end()).isEqualTo(at);
            return new long[] {begin, at};
        }
    }

    @Test
    void aPipeIsNoLog() throws Exception {
        assertThat(new ProcessBuilder("mkfifo", log().toString()).start().waitFor())
                .isZero();
        try (LogBytes bytes = new LogBytes(log())) {
            assertThatThrownBy(() -> bytes.read(ByteBuffer.allocate(9), 0))
                    .hasMessageContaining("it is a pipe, not a regular file");
        }
    }

    @Test
    void theNewestBytesStayInWholeLinesAndTheirNumbersAreKnown() throws IOException {
        Random random = new Random(7);
        Files.writeString(LogFiles.full(log(), 0), "of an earlier process");
        try (LogFile file = new LogFile(log(), Optional.of(LIMIT), () -> {})) {
            assertThat(files()).containsExactly(log());
            for (long at = 0; at < 100_000; ) {
                long next = at + (1 + random.nextInt(80)) * LINE;
                write(file, at, next);
                at = next;
                assertThat(files()).hasSizeLessThanOrEqualTo(LIMIT.files());
            }
            long[] range = checkedRange(log());
            assertThat(range[1]).isEqualTo(file.size());
            assertThat(range[1] - range[0]).isGreaterThan(LIMIT.fileBytes() * 2 - 3000);
            assertThat(range[0] % LINE).isZero();
            for (Path part : files()) {
                assertThat(Files.size(part)).isLessThanOrEqualTo(LIMIT.fileBytes());
                assertThat(Files.size(part) % LINE).isZero();
                assertThat(Files.getPosixFilePermissions(part)).hasSize(2);
            }
            try (LogBytes bytes = new LogBytes(log())) {
                assertThat(bytes.read(ByteBuffer.allocate(9), range[0] - 1)).isEqualTo(LogBytes.GONE);
                assertThat(bytes.firstKept(range[0] - 1)).isEqualTo(range[0]);
                assertThat(bytes.firstKept(range[0] + 5)).isEqualTo(range[0] + 5);
            }
            assertThat(LogBytes.newInputStream(log()).readAllBytes())
                    .isEqualTo(LimitedLogWriterMain.bytes(range[0], (int) (range[1] - range[0])));
        }
    }

    @Test
    void aLineThatFitsInNoFileIsSplit() throws IOException {
        byte[] line = "x".repeat(LogLimit.LEAST_BYTES * 5 / 2).getBytes(StandardCharsets.US_ASCII);
        try (LogFile file = new LogFile(log(), Optional.of(LIMIT), () -> {})) {
            file.write(line, 0, line.length);
            assertThat(LogBytes.newInputStream(log()).readAllBytes()).isEqualTo(line);
            assertThat(files()).hasSize(3);
        }
    }

    @Test
    void aLineThatCameInPartsIsSplit() throws IOException {
        long most = LIMIT.fileBytes();
        try (LogFile file = new LogFile(log(), Optional.of(LIMIT), () -> {})) {
            write(file, 0, most - 1);
            write(file, most - 1, most + 20);
            assertThat(LogFiles.full(log(), 0)).hasSize(most);
            assertThat(checkedRange(log())).containsExactly(0, most + 20);
        }
    }

    @Test
    void aLogGoesOnAfterItsFileWasRemovedOrRenamed() throws IOException {
        try (LogFile file = new LogFile(log(), Optional.of(LIMIT), () -> {})) {
            write(file, 0, 100 * LINE);
            Files.delete(log());
            write(file, 100 * LINE, 200 * LINE); // 10 more lines fit in the first file
            assertThat(checkedRange(log())).containsExactly(110 * LINE, 200 * LINE);
            write(file, 200 * LINE, 300 * LINE);
            Files.move(log(), folder.resolve("away"));
            write(file, 300 * LINE, 400 * LINE);
            try (LogBytes bytes = new LogBytes(log())) {
                assertThat(bytes.read(ByteBuffer.allocate(9), 250 * LINE)).isEqualTo(LogBytes.GONE);
                assertThat(bytes.firstKept(250 * LINE)).isEqualTo(330 * LINE);
            }
            for (long line = 400; line < 900; line += 100) {
                write(file, line * LINE, (line + 100) * LINE);
                assertThat(files()).hasSizeLessThanOrEqualTo(LIMIT.files());
            }
            assertThat(checkedRange(log())).containsExactly(660 * LINE, 900 * LINE);
        }
    }

    @Test
    @Timeout(10)
    void aBufferWithoutRoomGetsNoByte() throws IOException {
        try (LogFile file = new LogFile(log(), Optional.of(LIMIT), () -> {});
                LogBytes bytes = new LogBytes(log())) {
            write(file, 0, 2 * LIMIT.fileBytes());
            assertThat(bytes.read(ByteBuffer.allocate(0), 5)).isZero();
        }
    }

    /** A write by an interrupted thread fails. */
    @Test
    void timesThatCannotBeShortenedStay() throws IOException {
        try (LogTimes.TimesWriter writer = new LogTimes.TimesWriter(log())) {
            writer.note(0);
            Thread.currentThread().interrupt();
            writer.dropBefore(905);
            assertThat(Thread.interrupted()).isTrue();
            try (Stream<Path> files = Files.list(folder)) {
                assertThat(files).containsExactly(LogTimes.fileOf(log()));
            }
            assertThat(LogTimes.read(log()).orElseThrow().secondAt(905)).isPresent();
        }
    }

    /** The times have pairs of the removed bytes no longer, and the pairs of the others. */
    @Test
    void theTimesHaveTheLimitOfTheirLog() throws IOException {
        ByteBuffer pairs = ByteBuffer.allocate(16 * 100);
        for (int i = 0; i < 100; i++) {
            pairs.putLong(1000L * i).putLong(10L * i);
        }
        try (LogTimes.TimesWriter writer = new LogTimes.TimesWriter(log())) {
            writer.note(0);
            Files.write(LogTimes.fileOf(log()), pairs.array());
            LogTimes before = LogTimes.read(log()).orElseThrow();
            writer.dropBefore(905);
            assertThat(LogTimes.fileOf(log())).hasSize(16 * 10);
            LogTimes times = LogTimes.read(log()).orElseThrow();
            assertThat(times.secondAt(899)).isEmpty();
            assertThat(times.secondAt(905)).contains(90L);
            assertThat(times.secondAt(990)).contains(99L);
            assertThat(before.isOutdated(log())).isFalse();
        }
    }

    @Test
    void aConsoleThatFallsBehindShowsHowMuchIsGone() throws IOException {
        List<String> shown = new ArrayList<>();
        LogFile file = new LogFile(log(), Optional.of(LIMIT), () -> {});
        try (LineCutter cutter = new LineCutter(file, false)) {
            try (file) {
                write(file, 0, 2 * LINE);
                shown.add(cutter.next().map(ByteString::toStringUtf8).orElseThrow());
                write(file, 2 * LINE, 2000 * LINE);
            }
            for (Optional<ByteString> piece = cutter.next(); piece.isPresent(); piece = cutter.next()) {
                shown.add(piece.get().toStringUtf8());
            }
        }
        long begin = checkedRange(log())[0];
        assertThat(String.join("", shown))
                .isEqualTo(text(0, 2 * LINE) + LogLimit.notice(begin - 2 * LINE) + "\n" + text(begin, 2000 * LINE));
    }

    private static String text(long from, long to) {
        return new String(LimitedLogWriterMain.bytes(from, (int) (to - from)), StandardCharsets.US_ASCII);
    }

    @Test
    void aReaderOfALogThatChangesItsFilesSeesEachByteAtItsOffset() throws Exception {
        AtomicBoolean ended = new AtomicBoolean();
        try (LogFile file = new LogFile(log(), Optional.of(LIMIT), () -> {})) {
            Thread writer = Thread.ofPlatform().start(() -> {
                try {
                    for (long at = 0; at < 3_000_000; at += 999) {
                        write(file, at, at + 999);
                    }
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                } finally {
                    ended.set(true);
                }
            });
            long at = 0;
            ByteBuffer buffer = ByteBuffer.allocate(2000);
            boolean last;
            do {
                last = ended.get();
                try (LogBytes bytes = new LogBytes(log())) { // as a reader that looks again and again
                    for (int count = bytes.read(buffer.clear(), at);
                            count != 0;
                            count = bytes.read(buffer.clear(), at)) {
                        if (count == LogBytes.GONE) {
                            long kept = bytes.firstKept(at);
                            assertThat(kept).isGreaterThan(at);
                            at = kept;
                        } else {
                            assertThat(buffer.flip()).isEqualTo(ByteBuffer.wrap(LimitedLogWriterMain.bytes(at, count)));
                            at += count;
                        }
                    }
                }
            } while (!last);
            writer.join();
            assertThat(at).isEqualTo(file.size());
        }
    }

    /** The reader lists many files, so several files become full while it looks for an offset. */
    @Test
    void bytesThatGoWhileAReaderLooksForThemStayGone() throws Exception {
        for (int i = 0; i < 300; i++) {
            Files.createFile(folder.resolve("other" + i));
        }
        byte[] content = LimitedLogWriterMain.bytes(0, 2_000_000);
        AtomicBoolean ended = new AtomicBoolean();
        try (LogFile file = new LogFile(log(), Optional.of(new LogLimit(LogLimit.LEAST_BYTES, 2)), () -> {})) {
            Thread writer = Thread.ofPlatform().start(() -> {
                try {
                    file.write(content, 0, content.length);
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                } finally {
                    ended.set(true);
                }
            });
            ByteBuffer buffer = ByteBuffer.allocate(2000);
            while (!ended.get()) {
                try (LogBytes bytes = new LogBytes(log())) {
                    int at = (int) Math.max(0, file.size() - 3000);
                    int count = bytes.read(buffer.clear(), at);
                    if (count == LogBytes.GONE) {
                        assertThat(bytes.read(buffer.clear(), at)).isEqualTo(LogBytes.GONE);
                    } else {
                        assertThat(buffer.flip()).isEqualTo(ByteBuffer.wrap(content, at, count));
                    }
                }
            }
            writer.join();
            assertThat(file.size()).isEqualTo(content.length);
        }
    }

    /** The agent may be killed between any two steps of a change of files. */
    @Test
    void aKillWhileFilesChangeLosesNoByteThatWasWritten() throws Exception {
        for (int i = 0; i < KILLS; i++) {
            Path reports = folder.resolve("reports");
            Process writer = new ProcessBuilder(
                            System.getProperty("java.home") + "/bin/java",
                            "-XX:+UseSerialGC",
                            "-XX:TieredStopAtLevel=1",
                            "-cp",
                            System.getProperty("java.class.path"),
                            LimitedLogWriterMain.class.getName(),
                            log().toString())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .redirectOutput(reports.toFile())
                    .start();
            while (writer.isAlive() && Files.size(reports) < 100 + 37 * i) {
                Thread.onSpinWait();
            }
            assertThat(writer.destroyForcibly().waitFor(60, TimeUnit.SECONDS)).isTrue();
            String report = Files.readString(reports);
            int end = report.lastIndexOf('\n');
            long written = Long.parseLong(report.substring(end - 10, end));
            long[] range = checkedRange(log());
            assertThat(range[1]).isGreaterThanOrEqualTo(written);
            assertThat(range[1] - range[0]).isGreaterThanOrEqualTo(LogLimit.LEAST_BYTES / 2);
            assertThat(files()).hasSizeLessThanOrEqualTo(LIMIT.files());
        }
    }
}
