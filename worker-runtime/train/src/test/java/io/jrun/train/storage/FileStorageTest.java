package io.jrun.train.storage;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checkpoints in folders that several ranks write at the same time. */
class FileStorageTest {
    @TempDir
    private Path folder;

    /** A rank that saves renames its files, and removes folders that a killed save has left. */
    @Test
    void aListIsMadeWhileOtherRanksRenameAndDeleteFiles() throws IOException {
        Files.writeString(folder.resolve("kept"), "");
        AtomicBoolean hasEnded = new AtomicBoolean();
        List<CompletableFuture<Void>> others = IntStream.range(0, 20)
                .mapToObj(rank -> folder.resolve("rank-" + rank))
                .map(own -> CompletableFuture.runAsync(() -> rename(own, hasEnded), Thread::startVirtualThread))
                .toList();
        try (Storage storage = Storages.open(folder.toString())) {
            for (int i = 0; i < 3000; i++) {
                assertThat(storage.list("")).contains("kept");
            }
        } finally {
            hasEnded.set(true);
        }
        others.forEach(CompletableFuture::join);
    }

    private static void rename(Path own, AtomicBoolean hasEnded) {
        try {
            while (!hasEnded.get()) {
                Path inner = Files.createDirectory(own);
                Path written = Files.writeString(inner.resolve("written"), "");
                Files.delete(Files.move(written, inner.resolve("moved"), StandardCopyOption.ATOMIC_MOVE));
                Files.delete(inner);
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
