package io.jrun.comm.file;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TemporaryFolderTest {
    @TempDir
    Path parent;

    @Test
    void foldersOfKilledProcessesAreDeletedAndThoseInUseStay() throws IOException {
        Path killed = Files.createDirectories(parent.resolve("jrun-x-1"));
        Files.writeString(killed.resolve("lock"), "");
        Files.writeString(Files.createDirectories(killed.resolve("inner")).resolve("file"), "");
        Path target = Files.createDirectories(parent.resolve("target"));
        Files.writeString(target.resolve("lock"), "");
        Path link = Files.createSymbolicLink(killed.resolve("link"), target);
        Path other = Files.createDirectories(parent.resolve("jrun-y-1"));
        try (TemporaryFolder inUse = TemporaryFolder.make(parent, "jrun-x-")) {
            Files.writeString(inUse.path().resolve("file"), "");
            assertThat(killed).doesNotExist();
            assertThat(link).doesNotExist();
            assertThat(target.resolve("lock")).exists();
            try (TemporaryFolder second = TemporaryFolder.make(parent, "jrun-x-")) {
                assertThat(inUse.path().resolve("file")).exists();
                assertThat(second.path()).isDirectory();
            }
        }
        try (var left = Files.list(parent)) {
            assertThat(left).containsExactlyInAnyOrder(target, other);
        }
    }

    /** Another process may delete an abandoned folder between the listing and the look at its owner. */
    @Test
    void processesThatSweepTheSameFoldersDoNotFail() throws Exception {
        for (int i = 0; i < 300; i++) {
            Files.createFile(
                    Files.createDirectory(parent.resolve("jrun-x-" + i)).resolve("lock"));
        }
        List<Thread> threads = new ArrayList<>();
        Queue<IOException> failures = new ConcurrentLinkedQueue<>();
        for (int i = 0; i < 4; i++) {
            threads.add(Thread.ofPlatform().start(() -> {
                try {
                    TemporaryFolder.make(parent, "jrun-x-").close();
                } catch (IOException e) {
                    failures.add(e);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failures).isEmpty();
    }

    /** A sweep must not lock the file of a folder before the process that makes the folder does. */
    @Test
    void processesThatMakeFoldersAtTheSameTimeDoNotDeleteThem() throws Exception {
        List<Process> makers = List.of(start(Maker.class), start(Maker.class));
        for (Process maker : makers) {
            assertThat(maker.inputReader().lines()).isEmpty();
            assertThat(maker.waitFor()).isZero();
        }
    }

    private Process start(Class<?> main) throws IOException {
        return new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        main.getName(),
                        parent.toString())
                .redirectErrorStream(true)
                .start();
    }

    /** The hook of a process that SIGTERM ends, and only the next process after SIGKILL. */
    @Test
    void theEndOfTheProcessDeletesItsFolder() throws Exception {
        for (String signal : new String[] {"TERM", "KILL"}) {
            Process process = start(Holder.class);
            Path held = Path.of(process.inputReader().readLine());
            assertThat(held.resolve("file")).exists();
            assertThat(new ProcessBuilder("kill", "-s", signal, Long.toString(process.pid()))
                            .start()
                            .waitFor())
                    .isZero();
            int _ = process.waitFor();
            if (signal.equals("KILL")) {
                assertThat(held).exists();
                TemporaryFolder.make(parent, "jrun-h-").close();
            }
            assertThat(held).doesNotExist();
        }
    }

    /** Makes and deletes folders. */
    static final class Maker {
        public static void main(String[] args) throws Exception {
            for (int i = 0; i < 500; i++) {
                TemporaryFolder.make(Path.of(args[0]), "jrun-m-").close();
            }
        }
    }

    /** Holds a folder until the process is killed. */
    static final class Holder {
        public static void main(String[] args) throws Exception {
            TemporaryFolder folder = TemporaryFolder.make(Path.of(args[0]), "jrun-h-");
            Files.writeString(folder.path().resolve("file"), "");
            System.out.println(folder.path());
            int _ = System.in.read();
        }
    }
}
