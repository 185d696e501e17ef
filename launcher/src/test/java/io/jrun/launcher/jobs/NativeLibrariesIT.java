package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.worker.AgentOptions;
import io.jrun.agent.worker.NativeLibraries;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The cache of libtorch's libraries, which the agent fills for workers in containers. */
class NativeLibrariesIT {
    private static final List<Path> RUNTIME = AgentOptions.ofHome(
                    Path.of(Objects.requireNonNull(System.getProperty("jrun.home"))), "")
            .runtimeClassPath();

    @TempDir
    private Path folder;

    private final List<String> notices = new ArrayList<>();

    @Test
    void theLibrariesAreUnpackedOnce() throws Exception {
        NativeLibraries libraries = new NativeLibraries(RUNTIME, folder.resolve("own/natives"), Optional.empty());
        libraries.fill(notices::add);
        libraries.fill(notices::add);

        assertThat(notices).singleElement().asString().contains("once for this node");
        try (Stream<Path> files = Files.walk(libraries.folder())) {
            assertThat(files.map(file -> file.getFileName().toString())).contains("libtorch_cpu.so");
        }
    }

    @Test
    void theReasonOfAFailureIsSaid() throws Exception {
        Files.createSymbolicLink(folder.resolve("own"), folder);
        new NativeLibraries(RUNTIME, folder.resolve("own/natives"), Optional.empty()).fill(notices::add);

        assertThat(notices)
                .last()
                .asString()
                .contains("could not be unpacked to " + folder.resolve("own/natives"), "symbolic link", "450 MB");
    }
}
