package io.jrun.launcher.record;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JobControlServerTest {
    @TempDir
    private Path folder;

    private final AtomicInteger stops = new AtomicInteger();

    @Test
    void callersAreServedAlsoInFoldersWithLongNames() throws IOException {
        Path deep = Files.createDirectories(folder.resolve("d".repeat(120)));
        for (Path place : new Path[] {folder, deep}) {
            stops.set(0);
            try (JobControlServer _ =
                    JobControlServer.open(place, stops::incrementAndGet, _ -> {}, CompletableFuture::new, _ -> {})) {
                assertThat(JobControlRequest.send(place, "cancel")).isEmpty();
                assertThat(stops).hasValue(1);
                assertThat(JobControlRequest.send(place, "kill")).isEmpty();
                assertThat(stops).hasValue(3);
                assertThat(JobControlRequest.send(place, "dance"))
                        .hasSize(1)
                        .first()
                        .asString()
                        .contains("dance");
            }
            assertThat(place.resolve("control.sock")).doesNotExist();
            assertThatThrownBy(() -> JobControlRequest.send(place, "cancel")).isInstanceOf(IOException.class);
        }
        try (var left = Files.list(Path.of("/tmp"))) {
            assertThat(left.map(file -> file.getFileName().toString()))
                    .noneMatch(name -> name.startsWith(
                            "jrun-control-" + ProcessHandle.current().pid() + "-"));
        }
    }

    @Test
    void theSocketOfAKilledLauncherIsReplaced() throws IOException {
        Files.createFile(folder.resolve("control.sock"));
        try (JobControlServer _ =
                JobControlServer.open(folder, stops::incrementAndGet, _ -> {}, CompletableFuture::new, _ -> {})) {
            JobControlRequest.send(folder, "cancel");
            assertThat(stops).hasValue(1);
        }
    }
}
