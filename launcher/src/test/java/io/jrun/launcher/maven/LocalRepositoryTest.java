package io.jrun.launcher.maven;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalRepositoryTest {
    private static final Map<String, String> NOTHING = Map.of();

    @TempDir
    private Path user;

    private Path settings;

    @BeforeEach
    void makeFolder() throws IOException {
        settings = Files.createDirectories(user.resolve(".m2")).resolve("settings.xml");
    }

    @Test
    void theRepositoryIsWhereMavenHasIt() throws IOException {
        assertThat(folder(NOTHING)).isEqualTo(user.resolve(".m2/repository"));
        Files.writeString(settings, """
                <settings>
                  <!-- <localRepository>/in/a/comment</localRepository> -->
                  <localRepository>${user.home}/${env.TEAM}/jars</localRepository>
                </settings>
                """);
        assertThat(folder(Map.of("TEAM", "a$1"))).isEqualTo(user.resolve("a$1/jars"));
        assertThat(folder(Map.of("MAVEN_OPTS", "-Xmx1g -Dmaven.repo.local=/opts -Da=b")))
                .isEqualTo(Path.of("/opts"));
        assertThat(folder(Map.of("MAVEN_OPTS", "-Dmaven.repo.local=/opts", "MAVEN_ARGS", "-Dmaven.repo.local=/args")))
                .isEqualTo(Path.of("/args"));
    }

    @Test
    void settingsThatAreNoXmlAreOneLine() throws IOException {
        Files.writeString(settings, "<settings><localRepository>");
        assertThatThrownBy(() -> folder(NOTHING))
                .isInstanceOf(UsageException.class)
                .hasMessageStartingWith("init: Maven's settings in " + settings + " cannot be read: ")
                .message()
                .hasLineCount(1);
    }

    @Test
    void anEqualFileStaysAndAnotherFileIsReplaced() throws IOException {
        Path home = user.resolve("home");
        Path pom = write(home.resolve("lib/maven/jrun-core-1.2.pom"), "pom");
        write(home.resolve("lib/maven/jrun-bom-1.2.pom"), "bom");
        write(home.resolve("lib/runtime/jrun-core-1.2.jar"), "jar");
        write(home.resolve("lib/maven/jrun-s3-1.2.pom"), "pom of s3");
        write(home.resolve("lib/s3/jrun-s3-1.2.jar"), "jar of s3");
        LocalRepository repository = new LocalRepository(user.resolve("m2"));
        repository.install(home);

        Path installed = user.resolve("m2/io/jrun/jrun-core/1.2");
        Path jar = installed.resolve("jrun-core-1.2.jar");
        assertThat(jar).hasContent("jar");
        assertThat(user.resolve("m2/io/jrun/jrun-bom/1.2/jrun-bom-1.2.pom")).hasContent("bom");
        assertThat(user.resolve("m2/io/jrun/jrun-s3/1.2/jrun-s3-1.2.jar")).hasContent("jar of s3");
        FileTime old = FileTime.fromMillis(1_000_000);
        Files.setLastModifiedTime(jar, old);
        Files.writeString(pom, "newer pom");
        repository.install(home);

        assertThat(Files.getLastModifiedTime(jar)).isEqualTo(old);
        assertThat(installed.resolve("jrun-core-1.2.pom")).hasContent("newer pom");
        try (Stream<Path> files = Files.list(installed)) {
            assertThat(files).hasSize(2);
        }
    }

    @Test
    void aRepositoryThatCannotBeWrittenIsOneLine() throws IOException {
        Path home = user.resolve("home");
        write(home.resolve("lib/maven/jrun-core-1.2.pom"), "pom");
        Path file = write(user.resolve("file"), "");

        assertThatThrownBy(() -> new LocalRepository(file).install(home))
                .isInstanceOf(UsageException.class)
                .hasMessageStartingWith("init: Maven's local repository " + file + " cannot be written: ")
                .message()
                .hasLineCount(1);
        assertThatThrownBy(() -> new LocalRepository(file).install(user))
                .isInstanceOf(UsageException.class)
                .hasMessage("init: the installation in " + user + " has no lib/maven/*.pom.");
    }

    private Path folder(Map<String, String> environment) {
        return LocalRepository.of(environment, user).folder();
    }

    private static Path write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        return Files.writeString(file, text);
    }
}
