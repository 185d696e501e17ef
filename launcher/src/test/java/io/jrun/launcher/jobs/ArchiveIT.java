package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The archive that makes starts fast never makes them wrong. */
class ArchiveIT {
    @TempDir
    private Path folder;

    @Test
    void changedClassRunsAfterARebuild() throws IOException {
        Path home = copyOfHome();
        JRun jrun = new JRun(folder).with("JRUN_HOME", home.toString()).with("JRUN_NO_ARCHIVE", "");
        String version = jrun.run("version").out();
        JRun.waitFor(() -> archives() == 1, "the first archive");
        assertThat(jrun.run("version").out()).isEqualTo(version);

        changeVersion(home);
        assertThat(jrun.run("version").out()).startsWith("jrun changed ");
        JRun.waitFor(() -> archives() == 2, "the second archive");
        assertThat(jrun.run("version").out()).startsWith("jrun changed ");
        JRun.waitFor(() -> unfinished() == 0, "the end of the archiving");
    }

    @Test
    void unwritableCacheOnlyMakesItSlower() throws IOException {
        Files.writeString(folder.resolve("file"), "");
        JRun jrun = new JRun(folder)
                .with("JRUN_NO_ARCHIVE", "")
                .with("XDG_CACHE_HOME", folder.resolve("file").toString());
        JRun.Result result = jrun.run("version");
        assertThat(result.exitCode()).isZero();
        assertThat(result.err()).isEmpty();
    }

    private Path copyOfHome() throws IOException {
        Path source = Path.of(Objects.requireNonNull(System.getProperty("jrun.home")));
        Path target = folder.resolve("home");
        for (String part : new String[] {"lib/launcher", "lib/runtime"}) {
            Files.createDirectories(target.resolve(part));
            try (Stream<Path> jars = Files.list(source.resolve(part))) {
                for (Path jar : jars.toList()) {
                    if (jar.getFileName().toString().startsWith("jrun-")) {
                        Files.copy(
                                jar,
                                target.resolve(part).resolve(jar.getFileName()),
                                StandardCopyOption.COPY_ATTRIBUTES);
                    } else {
                        Files.createSymbolicLink(target.resolve(part).resolve(jar.getFileName()), jar);
                    }
                }
            }
        }
        return target;
    }

    private void changeVersion(Path home) throws IOException {
        Path classes = Jars.compile(
                folder.resolve("changed"),
                "io.jrun.launcher.Version",
                "package io.jrun.launcher; final class Version { static final String TEXT = \"changed\"; }");
        try (Stream<Path> jars = Files.list(home.resolve("lib/launcher"))) {
            Path jar = jars.filter(file -> file.getFileName().toString().startsWith("jrun-launcher"))
                    .findFirst()
                    .orElseThrow();
            try (FileSystem inside = FileSystems.newFileSystem(URI.create("jar:" + jar.toUri()), Map.of())) {
                String name = "io/jrun/launcher/Version.class";
                Files.copy(classes.resolve(name), inside.getPath(name), StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }

    private long archives() {
        return count("launcher-", ".jsa");
    }

    private long unfinished() {
        return count("launcher-", "") - archives();
    }

    private long count(String start, String end) {
        try (Stream<Path> files = Files.list(folder.resolve("cache/jrun"))) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.startsWith(start) && name.endsWith(end))
                    .count();
        } catch (IOException e) {
            return 0;
        }
    }
}
