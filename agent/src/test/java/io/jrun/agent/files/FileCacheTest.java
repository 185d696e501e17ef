package io.jrun.agent.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.file.Sha256;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class FileCacheTest {
    @TempDir
    Path folder;

    private Path kept;
    private FileCache cache;

    @BeforeEach
    void open() throws IOException {
        kept = folder.resolve("cache/files");
        cache = new FileCache(kept, 10);
    }

    private void put(String content, Path target) throws Exception {
        cache.put(sha256(content), content.length(), false, target, out -> out.write(bytes(content)));
    }

    private boolean link(String content, String name) throws IOException {
        return cache.link(sha256(content), false, folder.resolve(name));
    }

    @Test
    void fileIsKeptForItsOwnerAloneAndFoundByItsHash() throws Exception {
        assertThat(link("abc", "before")).isFalse();
        put("abc", folder.resolve("first"));
        assertThat(link("abc", "second")).isTrue();
        assertThat(folder.resolve("second")).hasContent("abc");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(kept)))
                .isEqualTo("rwx------");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.resolve("second"))))
                .isEqualTo("r--------");
        assertThat(cache.link(sha256("abc"), true, folder.resolve("program"))).isTrue();
        assertThat(folder.resolve("program")).isExecutable();
    }

    @Test
    void contentThatIsNotWhatTheHashSaysIsNotKept() throws IOException {
        assertThatThrownBy(
                        () -> cache.put(sha256("abc"), 3, false, folder.resolve("x"), out -> out.write(bytes("abd"))))
                .isInstanceOf(StagingException.class)
                .hasMessageContaining("changed during the transfer");
        assertThat(folder.resolve("x")).doesNotExist();
        assertThat(list()).isEmpty();
    }

    @Test
    void spoiltFileIsRemovedInsteadOfUsed() throws Exception {
        put("abc", folder.resolve("first"));
        Path spoilt = list().getFirst();
        Files.setPosixFilePermissions(spoilt, PosixFilePermissions.fromString("rw-------"));
        Files.writeString(spoilt, "abd");
        assertThat(link("abc", "second")).isFalse();
        assertThat(folder.resolve("second")).doesNotExist();
        assertThat(list()).isEmpty();
    }

    @Test
    void filesUsedLastStay() throws Exception {
        put("aaaa", folder.resolve("a"));
        used("aaaa", 1);
        put("bbbb", folder.resolve("b"));
        used("bbbb", 2);
        assertThat(link("aaaa", "again")).isTrue();
        put("cccc", folder.resolve("c"));
        assertThat(link("bbbb", "gone")).isFalse();
        assertThat(link("aaaa", "stayed")).isTrue();
        assertThat(folder.resolve("b")).hasContent("bbbb"); // who has it keeps it
    }

    private void used(String content, long millis) throws IOException {
        Path file = kept.resolve(HexFormat.of().formatHex(sha256(content)));
        Files.setAttribute(file, "lastAccessTime", FileTime.fromMillis(millis));
    }

    @Test
    void leftoversOfAKilledAgentAreRemoved() throws Exception {
        Path part = Files.writeString(kept.resolve("part-1"), "x");
        Path fresh = Files.writeString(kept.resolve("part-2"), "x");
        Files.setLastModifiedTime(part, FileTime.fromMillis(0));
        put("abc", folder.resolve("first"));
        assertThat(part).doesNotExist();
        assertThat(fresh).exists();
    }

    @Test
    void agentsOfOneFolderDoNotDisturbEachOther() throws Exception {
        try (ExecutorService agents = Executors.newFixedThreadPool(4)) {
            List<Callable<Boolean>> jobs = IntStream.range(0, 100)
                    .<Callable<Boolean>>mapToObj(job -> () -> {
                        FileCache own = new FileCache(kept, 10);
                        String content = "file " + job % 5;
                        Path target = folder.resolve("job-" + job);
                        if (!own.link(sha256(content), false, target)) {
                            own.put(sha256(content), 6, false, target, out -> out.write(bytes(content)));
                        }
                        return Files.readString(target).equals(content);
                    })
                    .toList();
            for (Future<Boolean> done : agents.invokeAll(jobs)) {
                assertThat(done.get()).isTrue();
            }
        }
    }

    private List<Path> list() throws IOException {
        try (Stream<Path> files = Files.list(kept)) {
            return files.toList();
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] sha256(String content) {
        MessageDigest digest = Sha256.start();
        return digest.digest(bytes(content));
    }
}
