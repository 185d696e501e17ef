package io.jrun.train.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
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

    /** Two jobs that save to one folder must not replace each other's checkpoints. */
    @Test
    void aCommitOnAnotherVersionFails() throws IOException {
        try (Storage storage = Storages.open(folder.toString())) {
            storage.commit("index", new byte[] {1}, Optional.empty());
            assertThatThrownBy(() -> storage.commit("index", new byte[] {2}, Optional.empty()))
                    .isInstanceOf(CommitConflictException.class)
                    .hasMessageContaining("another job has written " + folder.resolve("index"));
            Optional<String> version = storage.version("index");
            storage.commit("index", new byte[] {3}, version);
            assertThatThrownBy(() -> storage.commit("index", new byte[] {4}, version))
                    .isInstanceOf(CommitConflictException.class);
        }
        assertThat(folder.resolve("index")).hasBinaryContent(new byte[] {3});
    }

    /** Something else in the place of an index is no missing index: a commit would replace it. */
    @Test
    void anIndexThatCannotBeReadIsNotReplaced() throws IOException {
        Path device = Path.of("/dev/zero");
        Path link = Files.createSymbolicLink(folder.resolve("index"), device);
        try (Storage storage = Storages.open(folder.toString())) {
            assertThatThrownBy(() -> storage.version("index"))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("it is a device");
            assertThatThrownBy(() -> storage.commit("index", new byte[] {1}, Optional.empty()))
                    .isInstanceOf(IOException.class);
        }
        assertThat(link.toRealPath()).isEqualTo(device);
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

    /** The kernel reports an error of the disk to the first fsync only, and the last fsync of the file succeeds. */
    @Test
    void anErrorOfAnEarlyFsyncIsThrown() throws IOException {
        FileChannel channel =
                FileChannel.open(folder.resolve("part"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        channel.close(); // so that the fsync fails
        EarlyFlush flush = new EarlyFlush(channel);
        flush.written(1L << 40);
        assertThatThrownBy(flush::end).isInstanceOf(ClosedChannelException.class);
    }
}
