package io.jrun.launcher.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.cuda.CudaBuildJar;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CudaFilesTest {
    private static final String JAR = "pytorch-2.10.0-1.5.13-linux-x86_64-gpu.jar";

    @TempDir
    Path folder;

    private final List<String> notices = new ArrayList<>();
    private Map<String, String> environment = Map.of();
    private Path home = Path.of("");

    @BeforeEach
    void installation() throws IOException {
        home = folder.resolve("jrun");
        Path runtime = Files.createDirectories(home.resolve("lib/runtime"));
        Files.createFile(runtime.resolve("pytorch-2.10.0-1.5.13.jar"));
        Files.createFile(runtime.resolve("pytorch-2.10.0-1.5.13-linux-x86_64.jar"));
        environment = Map.of("XDG_CACHE_HOME", folder.resolve("cache").toString(), "PATH", folder + ":/usr/bin:/bin");
    }

    /** The fake Maven copies a jar with one library. */
    private void maven() throws IOException {
        Path jar = folder.resolve("library.jar");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
            out.putNextEntry(new ZipEntry("org/bytedeco/cuda/linux-x86_64/libcudart.so.13"));
            out.putNextEntry(new ZipEntry("org/bytedeco/pytorch/linux-x86_64-gpu/libtorch_cuda.so"));
            out.write(new byte[1000]);
        }
        maven("""
                for word; do case $word in
                  -Dartifact=*) name=$(echo "${word#*=}" | cut -d: -f2-3 | tr : -)-$(echo "$word" | cut -d: -f5).jar ;;
                  -DoutputDirectory=*) cp %s "${word#*=}/$name" ;;
                esac; done""".formatted(jar));
    }

    private void maven(String script) throws IOException {
        Path program = Files.writeString(folder.resolve("mvn"), "#!/bin/sh\n" + script + "\n");
        assertThat(program.toFile().setExecutable(true)).isTrue();
    }

    @Test
    void theBuildOfTheRuntimesVersionGoesToTheCacheOnceAndIsRemoved() throws Exception {
        maven();
        CudaFiles files = CudaFiles.ofUser(home, environment);

        files.install(environment, false, notices::add);
        files.install(environment, false, notices::add);

        Path jar = folder.resolve("cache/jrun/cuda-2.10.0-1.5.13").resolve(JAR);
        assertThat(files.present()).containsExactly(jar);
        assertThat(notices).hasSize(3).last().asString().contains("is in " + jar);
        try (Stream<Path> all = Files.list(jar.resolveSibling(""))) {
            assertThat(all)
                    .as("no folder of a download stays")
                    .containsExactlyInAnyOrder(jar, CudaBuildJar.recordOf(jar));
        }
        assertThat(files.remove()).contains(jar);
        assertThat(jar.resolveSibling("")).isEmptyDirectory();
    }

    @Test
    void aDamagedJarIsFetchedAgainAndTheRestsOfAStoppedDownloadAreRemoved() throws Exception {
        maven();
        CudaFiles files = CudaFiles.ofUser(home, environment);
        files.install(environment, false, notices::add);
        Path jar = files.archive().jar();
        byte[] whole = Files.readAllBytes(jar);
        byte[] changed = whole.clone();
        changed[whole.length / 2] ^= 1;
        byte[] cut = Arrays.copyOf(whole, whole.length - 1);
        for (byte[] bytes : List.of(changed, cut)) {
            Files.write(jar, bytes);
            Path rest = Files.createDirectory(jar.resolveSibling("download17"));
            Files.createFile(rest.resolve("lock"));
            Files.createFile(rest.resolve(JAR + ".tmp"));

            files.install(environment, false, notices::add);

            assertThat(jar).hasBinaryContent(whole);
            assertThat(rest).doesNotExist();
        }
        assertThat(notices)
                .contains(
                        jar + " is damaged: its SHA-256 is not that in " + jar + ".sha256; the jar is replaced",
                        jar + " is damaged: it was cut short, or is no jar; the jar is replaced");
        Path rest = Files.createDirectory(jar.resolveSibling("download17"));
        assertThat(files.remove()).contains(jar, rest);
        assertThat(rest).doesNotExist();
        assertThat(files.remove()).isEmpty();
    }

    @Test
    void aMavenThatBringsNothingIsAnError() throws Exception {
        maven("exit 0");
        CudaFiles files = CudaFiles.ofUser(home, environment);

        assertThatThrownBy(() -> files.install(environment, false, notices::add))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("brought no jar of org.bytedeco:pytorch:");
    }

    @Test
    void theInstallationHasItsOwnPlaceAndTheLibrariesLieBesideTheJar() throws Exception {
        maven();
        CudaFiles files = CudaFiles.ofInstallation(home);

        files.install(environment, true, notices::add);

        assertThat(home.resolve("lib/cuda/libraries/libcudart.so.13")).exists();
        assertThat(files.present())
                .containsExactly(
                        home.toRealPath().resolve("lib/cuda").resolve(JAR),
                        home.toRealPath().resolve("lib/cuda/libraries"));
    }

    @Test
    void aFolderOfOthersIsRefused() throws Exception {
        maven();
        Path there = Files.createDirectories(folder.resolve("cache/jrun/cuda-2.10.0-1.5.13"));
        Files.createFile(there.resolve(JAR));
        Files.setPosixFilePermissions(there, PosixFilePermissions.fromString("rwxrwxrwx"));

        CudaFiles files = CudaFiles.ofUser(home, environment);

        assertThat(files.archive().isPresent()).isFalse();
        assertThatThrownBy(() -> files.install(environment, false, notices::add))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("is writable for other users");
    }

    @Test
    void aFailureOfMavenIsOneLineWithTheWayForMachinesWithoutANetwork() throws Exception {
        maven("echo '[ERROR] Could not transfer artifact: no route to host'; exit 1");
        CudaFiles files = CudaFiles.ofUser(home, environment);

        assertThatThrownBy(() -> files.install(environment, false, notices::add))
                .isInstanceOf(UsageException.class)
                .hasMessageStartingWith("cuda install: Maven could not fetch"
                        + " org.bytedeco:pytorch:2.10.0-1.5.13:jar:linux-x86_64-gpu: Could not transfer artifact: no route"
                        + " to host. Without a network put " + JAR + " into ");
    }
}
