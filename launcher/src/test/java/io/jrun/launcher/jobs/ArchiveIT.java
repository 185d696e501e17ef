package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collections;
import java.util.List;
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
        JRun.waitFor(() -> names(".jsa").size() == 2, "the first archives");
        List<String> first = names(".jsa");
        assertThat(jrun.run("version").out()).isEqualTo(version);

        Path elsewhere = Files.writeString(folder.resolve("cache/jrun/launcher-7.jsa"), "");
        Files.writeString(elsewhere.resolveSibling("launcher-7.owner"), "/another/installation\n/jdk\n");
        changeVersion(home);
        assertThat(jrun.run("version").out()).startsWith("jrun changed ");
        JRun.waitFor(() -> Collections.disjoint(first, names("")), "the second archives, in place of the first");
        assertThat(jrun.run("version").out()).startsWith("jrun changed ");
        assertThat(elsewhere).exists();
        JRun.waitFor(() -> names("").stream().noneMatch(name -> name.contains(".jsa.")), "the end of the archiving");
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

    private List<String> names(String end) {
        try (Stream<Path> files = Files.list(folder.resolve("cache/jrun"))) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(end))
                    .toList();
        } catch (IOException e) {
            return List.of();
        }
    }
}
