package io.jrun.launcher.blas;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MklJarsTest {
    @TempDir
    Path folder;

    private final List<String> notices = new ArrayList<>();
    private Map<String, String> environment = Map.of();
    private MklJars jars = new MklJars(Path.of(""));

    @BeforeEach
    void cacheOfTheUser() {
        environment = Map.of("XDG_CACHE_HOME", folder.resolve("cache").toString(), "PATH", folder + ":/usr/bin:/bin");
        jars = MklJars.of(environment);
    }

    @Test
    void mavenFetchesTheJarsOnce() throws Exception {
        maven("""
                for word; do case $word in
                  -Dartifact=*redist) name=mkl-2025.2-1.5.12-linux-x86_64-redist.jar ;;
                  -Dartifact=*) name=mkl-2025.2-1.5.12.jar ;;
                  -DoutputDirectory=*) echo jar > "${word#*=}/$name" ;;
                esac; done""");
        jars.fetch(environment, notices::add);
        assertThat(jars.arePresent()).isTrue();
        assertThat(notices).hasSize(2);
        jars.fetch(environment, notices::add);
        assertThat(notices).as("the jars are there").hasSize(2);
        try (Stream<Path> files = Files.list(jars.folder())) {
            assertThat(files).as("the folder has the jars only").hasSize(2);
        }
    }

    /** Without HOME the cache is below /tmp, and the workers load code from the jars. */
    @Test
    void jarsInAFolderOfAnotherUserAreRefused() throws Exception {
        Files.createDirectories(jars.folder());
        for (Path jar : jars.paths()) {
            Files.writeString(jar, "jar");
        }
        assertThat(jars.arePresent()).isTrue();
        Files.setPosixFilePermissions(jars.folder(), PosixFilePermissions.fromString("rwxrwxrwx"));
        maven("exit 1");
        assertThat(jars.arePresent()).isFalse();
        assertThatThrownBy(() -> jars.fetch(environment, notices::add))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("is writable for other users");
    }

    @Test
    void failureOfMavenIsOneLineAndLeavesNothing() throws Exception {
        maven("echo '[ERROR] Could not transfer artifact: no route to host'; echo '[ERROR] more'; exit 1");
        assertThatThrownBy(() -> jars.fetch(environment, notices::add))
                .isInstanceOf(UsageException.class)
                .hasMessageMatching(
                        "--blas=mkl: Maven could not fetch org\\.bytedeco:mkl:.*: Could not transfer artifact:"
                                + " no route to host\\. Without a network put the jars into .*");
        assertThat(jars.folder()).isEmptyDirectory();
    }

    @Test
    void missingMavenIsOneLineWithTheNamesOfTheJars() {
        assertThatThrownBy(() ->
                        new MklJars(folder.resolve("cache")).fetch(Map.of("PATH", folder.toString()), notices::add))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("apt install maven")
                .hasMessageContaining("mkl-2025.2-1.5.12-linux-x86_64-redist.jar");
    }

    private void maven(String script) throws IOException {
        Path program = Files.writeString(folder.resolve("mvn"), "#!/bin/sh\n" + script + "\n");
        assertThat(program.toFile().setExecutable(true)).isTrue();
    }
}
