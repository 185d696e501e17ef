package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** The downloads in minimal Debians, and the folder for Maven Central. Only under -Djrun.soak=true: it takes minutes. */
@Tag("alone")
@EnabledIfSystemProperty(named = "jrun.soak", matches = "true", disabledReason = "takes minutes: -Djrun.soak=true")
class PackageIT {
    /** Separates working from hanging. */
    private static final long MINUTES = 60;

    @TempDir
    private Path folder;

    @Test
    void eachDownloadWorksInAMinimalDebian() throws Exception {
        String packages = folder.resolve("packages").toString();
        run(List.of("package", "--to", packages), Map.of());
        assertThat(run(List.of("package-check", packages), Map.of())).contains("all downloads work");
    }

    @Test
    void twoPackagesOfOneBuildAreEqual() throws Exception {
        for (String copy : List.of("a", "b")) {
            run(
                    List.of(
                            "package",
                            "--without-image",
                            "--to",
                            folder.resolve(copy).toString()),
                    Map.of());
        }
        assertThat(folder.resolve("a/SHA256SUMS"))
                .content()
                .isEqualTo(Files.readString(folder.resolve("b/SHA256SUMS")));
    }

    @Test
    void theReleaseFolderFulfilsTheRulesOfMavenCentral() throws Exception {
        Path keys = Files.createDirectory(folder.resolve("keys"));
        Map<String, String> gpg = Map.of("GNUPGHOME", keys.toString());
        String key = "throw-away <key@example.com>";
        start(List.of("chmod", "700", keys.toString()), gpg);
        start(List.of("gpg", "--batch", "--passphrase", "", "--quick-generate-key", key, "ed25519", "sign", "1d"), gpg);
        Path release = folder.resolve("release");
        run(List.of("release", "--to", release.toString(), "--key", "key@example.com"), gpg);
        assertThat(run(List.of("release-check", release.toString()), gpg)).contains("nothing to mend");

        Path sum =
                release.resolve("io/jrun/jrun-core").resolve(version()).resolve("jrun-core-" + version() + ".jar.sha1");
        Files.writeString(sum, "0".repeat(40));
        Files.delete(sum.resolveSibling("jrun-core-" + version() + "-javadoc.jar.asc"));
        Process check = new ProcessBuilder(JRun.SCRIPTS.resolve("release-check").toString(), release.toString())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("check").toFile())
                .start();
        assertThat(check.waitFor(MINUTES, TimeUnit.MINUTES)).isTrue();
        assertThat(check.exitValue()).isOne();
        assertThat(folder.resolve("check"))
                .content()
                .contains(sum + ": is not the checksum of the file", "-javadoc.jar.asc: ");
        start(List.of("gpgconf", "--kill", "all"), gpg);
    }

    private static String version() throws IOException {
        String pom = Files.readString(JRun.SCRIPTS.resolveSibling("pom.xml"));
        return pom.replaceFirst("(?s).*?<version>([^<]+)</version>.*", "$1");
    }

    private String run(List<String> script, Map<String, String> environment) throws Exception {
        List<String> command = new ArrayList<>(script);
        command.set(0, JRun.SCRIPTS.resolve(script.getFirst()).toString());
        return start(command, environment);
    }

    private String start(List<String> command, Map<String, String> environment) throws Exception {
        Path out = folder.resolve("out");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile());
        builder.environment().put("JRUN_HOME", Objects.requireNonNull(System.getProperty("jrun.home")));
        builder.environment().put("XDG_CACHE_HOME", folder.resolve("cache").toString());
        builder.environment().putAll(environment);
        Process process = builder.start();
        boolean ended = process.waitFor(MINUTES, TimeUnit.MINUTES);
        process.destroyForcibly();
        assertThat(ended && process.exitValue() == 0).as(Files.readString(out)).isTrue();
        return Files.readString(out);
    }
}
