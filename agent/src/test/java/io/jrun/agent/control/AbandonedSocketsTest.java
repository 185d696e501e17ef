package io.jrun.agent.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AbandonedSocketsTest {
    private static final Duration OLD = Duration.ofHours(1);

    @TempDir
    Path temp;

    /** No process has these numbers: Linux has at most 4,194,304. */
    @Test
    void onlyFoldersWithoutAProcessAndWithoutAListenerAreRemoved() throws IOException {
        Path dead = folder("jrun-99999991-1", OLD);
        socket(dead, OLD).close();
        Files.createFile(Files.createDirectory(dead.resolve("containers")).resolve("entry"));
        setAge(dead, OLD);
        Path withoutSocket = folder("jrun-99999992-1", OLD);
        Path fresh = folder("jrun-99999993-1", Duration.ZERO);
        Path running = folder("jrun-" + ProcessHandle.current().pid() + "-1", OLD);
        Path other = folder("jrun-99999994-name", OLD);
        Path inContainer = folder("jrun-99999995-1", OLD);
        Path link = Files.createSymbolicLink(temp.resolve("jrun-99999996-1"), other);
        try (ServerSocketChannel _ = socket(inContainer, OLD)) {
            AbandonedSockets.sweep(temp);
            assertThat(dead).doesNotExist();
            assertThat(withoutSocket).doesNotExist();
            assertThat(fresh).exists();
            assertThat(running).exists();
            assertThat(other).exists();
            assertThat(inContainer.resolve("agent.sock")).exists();
            assertThat(link).isSymbolicLink();
        }
    }

    private Path folder(String name, Duration age) throws IOException {
        Path folder = Files.createDirectory(temp.resolve(name));
        setAge(folder, age);
        return folder;
    }

    private static ServerSocketChannel socket(Path folder, Duration age) throws IOException {
        ServerSocketChannel channel = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        channel.bind(UnixDomainSocketAddress.of(folder.resolve("agent.sock")));
        setAge(folder, age);
        return channel;
    }

    private static void setAge(Path folder, Duration age) throws IOException {
        Files.setLastModifiedTime(folder, FileTime.from(Instant.now().minus(age)));
    }
}
