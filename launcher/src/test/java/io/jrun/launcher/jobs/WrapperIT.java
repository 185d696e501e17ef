package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.launcher.jobs.JRun.Result;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** scripts/jrun in a checkout that is not built, and on a machine that lacks something. */
class WrapperIT extends RealJobs {
    private static final String HOME = Objects.requireNonNull(System.getProperty("jrun.home"));

    private Path checkout;
    private JRun fresh;

    @BeforeEach
    void copyScripts() throws IOException {
        checkout = folder.resolve("my checkout");
        Path scripts = Files.createDirectories(checkout.resolve("scripts"));
        Files.writeString(checkout.resolve("pom.xml"), "<project/>");
        try (Stream<Path> files = Files.list(JRun.SCRIPTS)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Files.copy(file, scripts.resolve(file.getFileName()));
            }
        }
        fresh = new JRun(folder, scripts.resolve("jrun")).without("JRUN_HOME");
    }

    @Test
    void firstUseOfACheckoutBuildsItAndTheNextDoesNot() throws IOException {
        maven("echo \"$PWD\" \"$@\" >> '" + folder + "/built'; mkdir target; ln -s '" + HOME + "' target/jrun");
        Result first = fresh.run("version");
        assertThat(first.exitCode()).as(first.err()).isZero();
        assertThat(first.out()).startsWith("jrun ");
        assertThat(first.err())
                .contains("jrun: first use of this checkout, building it")
                .contains("jrun: built");
        assertThat(fresh.run("version").err()).isEmpty();
        assertThat(Files.readString(folder.resolve("built")))
                .isEqualTo(checkout.toRealPath() + " -B -T2 package -Dmaven.test.skip=true\n");
    }

    @Test
    void deletedWorkingDirectoryIsSaid() throws Exception {
        Path gone = Files.createDirectory(folder.resolve("gone"));
        Process shell = new ProcessBuilder("sh", "-c", "rmdir \"$PWD\"; exec \"$0\" version", JRun.SCRIPTS + "/jrun")
                .directory(gone.toFile())
                .redirectErrorStream(true)
                .start();
        String said = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(shell.waitFor()).as(said).isEqualTo(2);
        // A shell may have said something of its own before.
        assertThat(said.lines()).last().isEqualTo("jrun: the working directory was deleted; cd to one that exists");
        assertThat(said.lines().filter(line -> line.startsWith("jrun:"))).hasSize(1);
    }

    /** A JVM prints advice for programmers, and no limit. A limit of processes does not hold for root. */
    @Test
    void limitsThatAreTooLowAreOneLineWithTheLimit() throws Exception {
        assertThat(underLimit("-n 64"))
                .isEqualTo("jrun: the limit of open files is 64 (ulimit -Hn), jrun needs 256; raise the limit with"
                        + " ulimit -n 1024\n");
        assertThat(underLimit("-v 2000000"))
                .isEqualTo("jrun: the limit of address space is 1953 MiB (ulimit -v), jrun needs 4096 MiB, and a worker"
                        + " with libtorch 12288 MiB: a JVM reserves more than it uses; raise the limit with ulimit -v"
                        + " unlimited\n");
    }

    private static String underLimit(String limit) throws Exception {
        Process shell = new ProcessBuilder(
                        "sh", "-c", "ulimit " + limit + "; exec \"$0\" version", JRun.SCRIPTS + "/jrun")
                .redirectErrorStream(true)
                .start();
        String said = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(shell.waitFor()).as(said).isEqualTo(2);
        return said;
    }

    @Test
    void failedBuildIsSaid() throws IOException {
        maven("echo no network; exit 1");
        Result result = fresh.run("version");
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.out()).isEmpty();
        assertThat(result.err().lines())
                .contains("no network")
                .last()
                .isEqualTo("jrun: the build failed; see above, or run 'mvn package' in the checkout");
    }

    @Test
    void withoutMavenItSaysSoInOneLine() throws IOException {
        Result result = fresh.with(
                        "PATH", Files.createDirectory(folder.resolve("empty")).toString())
                .run("version");
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).hasLineCount(1).contains("not built yet, and mvn is not on the PATH");
    }

    @Test
    void withoutAJdkItSaysSoInOneLine() throws Exception {
        List<String> hidden = List.of(
                "unshare",
                "-rm",
                "sh",
                "-c",
                "for d in /usr/lib/jvm /opt/java; do [ ! -d $d ] || mount -t tmpfs none $d"
                        + " || exit 99; done; exec \"$@\"",
                "sh");
        Process probe = new ProcessBuilder(
                        Stream.concat(hidden.stream(), Stream.of("true")).toList())
                .start();
        assumeTrue(probe.waitFor() == 0, "skipped: no user may mount on this machine, so its JDKs cannot be hidden");
        Result result = jrun.with("JAVA_HOME", "")
                .with("JRUN_JAVA_HOME", "")
                .with("PATH", Files.createDirectory(folder.resolve("empty")) + ":/usr/bin:/bin")
                .startUnder(hidden, "version")
                .await();
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.out()).isEmpty();
        assertThat(result.err()).hasLineCount(1).startsWith("jrun: no JDK 25 or newer found; install one");
    }

    @Test
    void linkToTheScriptFindsItsInstallation() throws IOException {
        Path link = Files.createSymbolicLink(folder.resolve("jrun on path"), JRun.SCRIPTS.resolve("jrun"));
        Result result = new JRun(folder, link).without("JRUN_HOME").run("version");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err()).isEmpty();
    }

    @Test
    void installationThatIsNotThereIsSaidInOneLine() {
        Result result = jrun.with("JRUN_HOME", folder + "/nowhere").run("version");
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).hasLineCount(1).contains("no installation in " + folder + "/nowhere");
    }

    /** Stands for Maven, which is not what is tested here. */
    private void maven(String script) throws IOException {
        Path bin = Files.createDirectory(folder.resolve("bin"));
        Path maven = Files.writeString(bin.resolve("mvn"), "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(maven, PosixFilePermissions.fromString("rwxr-xr-x"));
        fresh.with("PATH", bin + ":" + System.getenv("PATH"));
    }
}
