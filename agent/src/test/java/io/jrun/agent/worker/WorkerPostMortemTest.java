package io.jrun.agent.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.log.LogFile;
import io.jrun.agent.log.LogLimit;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class WorkerPostMortemTest {
    @TempDir
    private Path folder;

    /** A process of the worker may still write when the worker has ended. */
    @Test
    void theTailOfALogThatChangesItsFilesHasWholeLines() throws Exception {
        Path log = folder.resolve("stdout.log");
        AtomicBoolean ended = new AtomicBoolean();
        byte[] lines = "a line\n".repeat(20_000).getBytes(StandardCharsets.US_ASCII);
        try (LogFile file = new LogFile(log, Optional.of(new LogLimit(LogLimit.LEAST_BYTES, 2)), () -> {})) {
            Thread writer = Thread.ofPlatform().start(() -> {
                try {
                    for (int i = 0; i < 25; i++) {
                        file.write(lines, 0, lines.length);
                    }
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                } finally {
                    ended.set(true);
                }
            });
            while (!ended.get()) {
                assertThat(WorkerPostMortem.fileTail(log)).isSubsetOf("a line"); // empty if the tail was removed
            }
            writer.join();
            assertThat(WorkerPostMortem.fileTail(log)).hasSize(20).containsOnly("a line");
        }
    }
}
