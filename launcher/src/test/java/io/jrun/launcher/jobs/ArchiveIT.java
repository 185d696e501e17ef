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

/** The archive that makes starts fast never makes them wrong. */
class ArchiveIT extends RealJobs {
    @Test
    void changedClassesRunAfterARebuild() throws IOException {
        Path home = copyOfHome();
        Jars.program(
                folder.resolve("hello.jar"),
                "Hello",
                "public class Hello { public static void main(String[] args) { System.out.println(\"hello\"); } }");
        jrun.with("JRUN_HOME", home.toString()).with("JRUN_NO_ARCHIVE", "").with("XDG_CACHE_HOME", cache().toString());
        String version = jrun.run("version").out();
        JRun.waitFor(() -> archives() == 1, "the first archive");
        assertThat(count("worker-", ".jsa")).isEqualTo(1);
        assertThat(jrun.run("version").out()).isEqualTo(version);
        assertThat(jrun.run("--jvm-opts=-Xshare:on", "hello.jar").out())
                .as("with the archive or not at all")
                .endsWith("] hello\n");

        replaceClass(
                home.resolve("lib/launcher"),
                "jrun-launcher",
                "io.jrun.launcher.Version",
                "package io.jrun.launcher; final class Version { static final String TEXT = \"changed\"; }");
        replaceClass(home.resolve("lib/runtime"), "jrun-comm", "io.jrun.comm.worker.WorkerMain", """
                package io.jrun.comm.worker;
                public class WorkerMain {
                    public static void main(String[] args) { System.out.println("changed"); }
                }
                """);
        assertThat(jrun.run("version").out()).startsWith("jrun changed ");
        assertThat(jrun.run("hello.jar").out()).endsWith("] changed\n");
        JRun.waitFor(() -> archives() == 2, "the second archive");
        assertThat(jrun.run("version").out()).startsWith("jrun changed ");
        assertThat(jrun.run("--jvm-opts=-Xshare:on", "hello.jar").out()).endsWith("] changed\n");
        JRun.waitFor(() -> unfinished() == 0, "the end of the archiving");
    }

    @Test
    void unwritableCacheOnlyMakesItSlower() throws IOException {
        Files.writeString(folder.resolve("file"), "");
        JRun.Result result = jrun.with("JRUN_NO_ARCHIVE", "")
                .with("XDG_CACHE_HOME", folder.resolve("file").toString())
                .run("version");
        assertThat(result.exitCode()).isZero();
        assertThat(result.err()).isEmpty();
    }

    private Path copyOfHome() throws IOException {
        Path source = Path.of(Objects.requireNonNull(System.getProperty("jrun.home")));
        Path target = folder.resolve("my home");
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

    private void replaceClass(Path jars, String jarName, String className, String source) throws IOException {
        Path classes = Jars.compile(folder.resolve(className), className, source);
        try (Stream<Path> files = Files.list(jars)) {
            Path jar = files.filter(file -> file.getFileName().toString().startsWith(jarName))
                    .findFirst()
                    .orElseThrow();
            try (FileSystem inside = FileSystems.newFileSystem(URI.create("jar:" + jar.toUri()), Map.of())) {
                String name = className.replace('.', '/') + ".class";
                Files.copy(classes.resolve(name), inside.getPath(name), StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }

    private Path cache() {
        return folder.resolve("my cache");
    }

    private long archives() {
        return count("launcher-", ".jsa");
    }

    private long unfinished() {
        return count("launcher-", "") - archives();
    }

    private long count(String start, String end) {
        try (Stream<Path> files = Files.list(cache().resolve("jrun"))) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.startsWith(start) && name.endsWith(end))
                    .count();
        } catch (IOException e) {
            return 0;
        }
    }
}
