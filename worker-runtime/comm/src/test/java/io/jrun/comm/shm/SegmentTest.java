package io.jrun.comm.shm;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.OpenFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class SegmentTest {
    private static final String NAME =
            "jrun-segment-test-" + ProcessHandle.current().pid();
    private static final Path FILE = Segment.DIRECTORY.resolve(NAME);

    @Test
    void aNameThatIsTakenIsLeftToItsOwner() {
        try (Segment first = Segment.create(NAME, 4096, 4096).orElseThrow()) {
            assertThat(Segment.create(NAME, 4096, 4096)).isEmpty();
            assertThat(FILE).exists();
            assertThat(first.memory().byteSize()).isEqualTo(4096);
        }
        assertThat(FILE).doesNotExist();
    }

    /** On NUMA machines, pages are near the rank that made them, because no other rank can touch them before. */
    @Test
    void theCreatorHasAllPagesBeforeOtherRanksCanOpenTheFile() throws Exception {
        long bytes = 1 << 20;
        try (Segment _ = Segment.create(NAME, bytes, bytes).orElseThrow()) {
            Process stat = new ProcessBuilder("stat", "-c", "%b %B", FILE.toString()).start();
            String[] blocks = new String(stat.getInputStream().readAllBytes(), UTF_8)
                    .strip()
                    .split(" ", -1);
            assertThat(Long.parseLong(blocks[0]) * Long.parseLong(blocks[1])).isGreaterThanOrEqualTo(bytes);
        }
    }

    @Test
    void aFailedMappingLeavesNoName() {
        long moreThanAnAddressSpace = 1L << 52;
        assertThatThrownBy(() -> Segment.create(NAME, moreThanAnAddressSpace, 4096))
                .isInstanceOf(CommException.class)
                .hasMessageContaining("cannot map " + FILE);
        assertThat(FILE).doesNotExist();
    }

    @Test
    void aFileThatCannotBeMappedIsClosed() throws Exception {
        Files.writeString(FILE, "short");
        try {
            assertThatThrownBy(() -> Segment.open(NAME, 4096))
                    .isInstanceOf(CommException.class)
                    .hasMessageContaining("the file has 5 bytes (expected 4096)");
            assertThat(OpenFiles.targets()).doesNotContain(FILE.toString());
        } finally {
            Files.delete(FILE);
        }
    }

    @Test
    void theSweepTakesLeftoversOnly() throws Exception {
        Path leftover = Files.createFile(FILE.resolveSibling(NAME + "-leftover"));
        try (Segment living = Segment.create(NAME, 4096, 4096).orElseThrow()) {
            SegmentSweeper.sweep(NAME, (Integer) Files.getAttribute(leftover, "unix:uid"));
            assertThat(leftover).doesNotExist();
            assertThat(FILE).exists();
            assertThat(living.memory().byteSize()).isEqualTo(4096);
        }
    }
}
