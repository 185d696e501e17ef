package io.jrun.comm.timeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class TimelineTest {
    @TempDir
    Path folder;

    private final List<String> problems = new ArrayList<>();

    private Timeline open(boolean whole) {
        return Timeline.open(folder, 3, 4, 2, whole, problems::add);
    }

    private TimelineFile read() throws IOException {
        return TimelineFile.read(folder.resolve("timeline-2.bin"));
    }

    @Test
    void aReaderSeesAllThatIsKnownOfAnEntry() throws IOException {
        Timeline timeline = open(false);
        timeline.span("forward", 7, 1000, 2000, 5);
        int group = timeline.name("world|0-3");
        long entry =
                timeline.begin(TimelineEntry.Kind.COLLECTIVE, timeline.name("allReduce"), group, 12, 3000, 4096, -1, 0);
        assertThat(read().entries().getLast().state()).isEqualTo(TimelineEntry.State.RUNNING);
        timeline.end(entry, true, 9000, timeline.name("ring"), 1, 500);
        long send = timeline.begin(TimelineEntry.Kind.MESSAGE, timeline.name("send"), group, 0, 9500, 8, 2, -7);
        timeline.end(send, false, 9600, 0, -1, 0);
        TimelineFile file = read();
        assertThat(file.rank()).isEqualTo(3);
        assertThat(file.worldSize()).isEqualTo(4);
        assertThat(file.round()).isEqualTo(2);
        assertThat(file.lost()).isZero();
        assertThat(file.entries())
                .containsExactly(
                        new TimelineEntry(
                                TimelineEntry.Kind.SPAN,
                                TimelineEntry.State.COMPLETED,
                                "forward",
                                "",
                                7,
                                1000,
                                2000,
                                5,
                                "",
                                -1,
                                0,
                                -1,
                                0),
                        new TimelineEntry(
                                TimelineEntry.Kind.COLLECTIVE,
                                TimelineEntry.State.COMPLETED,
                                "allReduce",
                                "world|0-3",
                                12,
                                3000,
                                9000,
                                4096,
                                "ring",
                                1,
                                500,
                                -1,
                                0),
                        new TimelineEntry(
                                TimelineEntry.Kind.MESSAGE,
                                TimelineEntry.State.FAILED,
                                "send",
                                "world|0-3",
                                0,
                                9500,
                                9600,
                                8,
                                "",
                                -1,
                                0,
                                2,
                                -7));
        assertThat(file.entries().getLast().groupName()).isEqualTo("world");
        assertThat(problems).isEmpty();
    }

    @Test
    void theLastEntriesAreKept() throws IOException {
        Timeline timeline = open(false);
        long first = timeline.begin(TimelineEntry.Kind.COLLECTIVE, 0, 0, 0, 1, 1, -1, 0);
        for (int i = 1; i <= Timeline.RING; i++) {
            timeline.span("step", i, 10L * i, 10L * i + 1, 0);
        }
        timeline.end(first, true, 5, 0, -1, 0); // its place has another entry
        TimelineFile file = read();
        assertThat(file.lost()).isEqualTo(1);
        assertThat(file.entries()).hasSize(Timeline.RING);
        assertThat(file.entries().getFirst().number()).isEqualTo(1);
        assertThat(file.entries().getLast().endNanos()).isEqualTo(10L * Timeline.RING + 1);
    }

    @Test
    void aWholeTimelineGrows() throws IOException {
        Timeline timeline = open(true);
        int count = 150_000;
        for (int i = 1; i <= count; i++) {
            timeline.span("step", i, i, i + 1, 0);
        }
        TimelineFile file = read();
        assertThat(file.lost()).isZero();
        assertThat(file.entries()).hasSize(count);
        assertThat(file.entries().getLast().number()).isEqualTo(count);
    }

    @Test
    void stepsOfAModelAreNumbered() throws IOException {
        Timeline timeline = open(false);
        timeline.step(10, 20);
        timeline.step(20, 30);
        assertThat(read().entries())
                .extracting(TimelineEntry::name, TimelineEntry::number, TimelineEntry::endNanos)
                .containsExactly(tuple(Timeline.MODEL_STEP, 0L, 20L), tuple(Timeline.MODEL_STEP, 1L, 30L));
    }

    @Test
    void furtherNamesThanTheFileHoldsAreEmpty() throws IOException {
        Timeline timeline = open(false);
        for (int i = 0; i < 300; i++) {
            timeline.span("name" + i, i, i, i + 1, 0);
        }
        timeline.span("n".repeat(1000), 300, 300, 301, 0);
        List<TimelineEntry> entries = read().entries();
        assertThat(entries.get(254).name()).isEqualTo("name254");
        assertThat(entries.get(255).name()).isEmpty();
        assertThat(entries).hasSize(301);
    }

    @Test
    @Timeout(60)
    void aReaderAmidWritersSeesNoTornEntry() throws Exception {
        Timeline timeline = open(false);
        AtomicBoolean done = new AtomicBoolean();
        List<Thread> writers = new ArrayList<>();
        for (int writer = 1; writer <= 2; writer++) {
            int factor = writer;
            writers.add(Thread.ofPlatform().daemon().start(() -> {
                for (long i = 1; !done.get(); i++) {
                    timeline.span("span" + factor, i, factor * i, factor * i + 1, i);
                }
            }));
        }
        long seen = 0;
        for (int look = 0; look < 50 || seen == 0; look++) { // the writers may not have begun
            for (TimelineEntry entry : read().entries()) {
                long factor = entry.name().equals("span2") ? 2 : 1;
                assertThat(entry.beginNanos() == factor * entry.number() && entry.bytes() == entry.number())
                        .as("%s", entry)
                        .isTrue();
                seen++;
            }
        }
        done.set(true);
        for (Thread writer : writers) {
            writer.join();
        }
    }

    @Test
    void aCopyHasAllEntriesButThoseBeingWritten() throws IOException {
        Timeline timeline = open(false);
        for (int i = 1; i <= 100; i++) {
            timeline.span("forward", i, i, i + 1, 0);
        }
        Path file = folder.resolve("timeline-2.bin");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            ByteBuffer writing = ByteBuffer.allocate(8);
            long second = TimelineLayout.ENTRIES_AT + TimelineLayout.ENTRY_BYTES;
            channel.write(writing.putLong(0, TimelineLayout.BEING_WRITTEN), second);
        }
        ByteArrayOutputStream copy = new ByteArrayOutputStream();
        TimelineCopy.write(file, copy);
        assertThat(copy.size()).isEqualTo((int) Files.size(file));
        Path copied = Files.write(folder.resolve("copy.bin"), copy.toByteArray());
        List<TimelineEntry> entries = TimelineFile.read(copied).entries();
        assertThat(entries)
                .hasSize(99)
                .extracting(TimelineEntry::number)
                .doesNotContain(2L)
                .contains(1L, 3L, 100L);
    }

    @Test
    void aFolderThatCannotBeWrittenIsOneProblem() {
        Timeline timeline = Timeline.open(folder.resolve("absent"), 0, 1, 1, false, problems::add);
        timeline.span("step", 1, 1, 2, 0);
        assertThat(timeline.begin(TimelineEntry.Kind.COLLECTIVE, 0, 0, 0, 0, 0, -1, 0))
                .isEqualTo(Timeline.NO_ENTRY);
        assertThat(problems).singleElement().asString().contains("cannot be written");
    }

    @Test
    void otherFilesAreRefused() throws IOException {
        Path file = folder.resolve("timeline-2.bin");
        Files.writeString(file, "x".repeat(TimelineLayout.ENTRIES_AT));
        assertThatThrownBy(this::read).hasMessageContaining("is not a timeline");
        Files.writeString(file, "");
        assertThatThrownBy(this::read).hasMessageContaining("is not a timeline");
        Timeline _ = open(false);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[] {9}), TimelineLayout.VERSION_AT);
        }
        assertThatThrownBy(this::read).hasMessageContaining("has version 9 of the timeline");
    }
}
