package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code jrun init} and what users do next: build the project with the machine's own Maven, and run it. */
class InitIT extends RealJobs {
    /** Separates working from hanging; the build takes 7 s of CPU time. */
    private static final long BUILD_SECONDS = 300;

    private static final Pattern PLUGIN =
            Pattern.compile("<artifactId>(maven-\\w+-plugin)</artifactId>\\s*<version>([^<]+)</version>");

    private final List<Path> links = new ArrayList<>();

    /** JUnit warns about each link that it finds. */
    @AfterEach
    void removeLinks() throws IOException {
        for (Path link : links) {
            Files.delete(link);
        }
    }

    @Test
    void newProjectBuildsOfflineAndItsLossFalls() throws Exception {
        Path repository = ownRepository();
        Result made =
                jrun.with("MAVEN_OPTS", "-Dmaven.repo.local=" + repository).run("init", "my model");
        assertThat(made.exitCode()).as(made.err()).isZero();
        assertThat(made.out()).startsWith("installed the jars of jrun ").contains(" in " + repository + ",");
        assertThat(made.out()).endsWith("my model'\n  mvn package\n  jrun --nproc-per-node=2 target/my-model.jar\n");
        Path project = folder.resolve("my model");
        assertThat(project.resolve(".gitignore")).content().startsWith("target/\n");

        assertPluginsAreThoseOfJrunsOwnPom(project.resolve("pom.xml"));
        assertThat(project.resolve("pom.xml"))
                .content()
                .contains("<artifactId>jrun-bom</artifactId>")
                .doesNotContain("systemPath");
        build(project, repository);
        try (var files = Files.walk(project.resolve("target"))) {
            assertThat(files.filter(file -> file.toString().endsWith(".jar")))
                    .containsExactly(project.resolve("target/my-model.jar"));
        }

        assertAWorldOfOneTrainsUnderPlainJava(project);
        assertThePluginTrains(project, repository);
        Result trained = jrun.run("--nproc-per-node=2", "my model/target/my-model.jar");
        assertThat(trained.exitCode()).as(trained.err()).isZero();
        List<Double> losses = new ArrayList<>();
        Matcher loss = Pattern.compile("loss (\\d+\\.\\d+)").matcher(trained.out());
        while (loss.find()) {
            losses.add(Double.parseDouble(loss.group(1)));
        }
        assertThat(losses).as(trained.out()).hasSize(5);
        assertThat(losses.getLast()).isLessThan(losses.getFirst() / 2);
    }

    /** jrun compiles the programs by itself. */
    @ParameterizedTest
    @CsvSource({
        "mesh, --nproc-per-node=2, 2, step 100 loss 0\\.0, jrun-parallel",
        "trainer, --nproc-per-node=2, --tiny, held-out loss [12]\\., jrun-trainer"
    })
    void programsOfOtherShapesTrain(String shape, String ranks, String argument, String wanted, String module)
            throws IOException {
        Result made = jrun.with("MAVEN_OPTS", "-Dmaven.repo.local=" + folder.resolve("m2"))
                .run("init", "--shape=" + shape, "net");
        assertThat(made.exitCode()).as(made.err()).isZero();
        assertThat(folder.resolve("net/pom.xml")).content().contains("<artifactId>" + module + "</artifactId>");
        Result trained = jrun.run(ranks, "net/src/main/java/com/example/Train.java", argument);
        assertThat(trained.exitCode()).as(trained.err()).isZero();
        assertThat(trained.out()).containsPattern(wanted);
    }

    @Test
    void gradleProjectTakesJrunFromTheLocalRepository() throws IOException {
        Path repository = folder.resolve("m2");
        Result made =
                jrun.with("MAVEN_OPTS", "-Dmaven.repo.local=" + repository).run("init", "--gradle", "net");

        assertThat(made.exitCode()).as(made.err()).isZero();
        assertThat(made.out()).endsWith("  gradle jar\n  jrun --nproc-per-node=2 build/libs/net.jar\n");
        assertThat(folder.resolve("net/settings.gradle.kts")).hasContent("rootProject.name = \"net\"");
        assertThat(folder.resolve("net/pom.xml")).doesNotExist();
        assertThat(folder.resolve("net/src/main/java/com/example/Train.java")).isRegularFile();
        String version = jrun.run("version").out().replaceFirst("(?s)jrun (\\S+).*", "$1");
        assertThat(folder.resolve("net/build.gradle.kts"))
                .content()
                .contains("platform(\"io.jrun:jrun-bom:" + version + "\")");
        assertThat(repository.resolve("io/jrun/jrun-bom/" + version + "/jrun-bom-" + version + ".pom"))
                .isRegularFile();
        assertThat(repository.resolve("io/jrun/jrun-core/" + version + "/jrun-core-" + version + ".jar"))
                .isRegularFile();
    }

    /** Maven's repository of this machine, with artifacts of jrun of its own. */
    private Path ownRepository() throws IOException {
        Path own = Files.createDirectories(folder.resolve("m2"));
        linkAll(Path.of(Objects.requireNonNull(System.getProperty("localRepository"))), own, "io");
        linkAll(
                Path.of(Objects.requireNonNull(System.getProperty("localRepository")), "io"),
                Files.createDirectories(own.resolve("io")),
                "jrun");
        return own;
    }

    private void linkAll(Path source, Path target, String exception) throws IOException {
        try (var entries = Files.list(source)) {
            for (Path entry : entries.toList()) {
                if (!entry.getFileName().toString().equals(exception)) {
                    links.add(Files.createSymbolicLink(target.resolve(entry.getFileName()), entry));
                }
            }
        }
    }

    /** As README says, with the class path on a command line of a shell. */
    private void assertAWorldOfOneTrainsUnderPlainJava(Path project) throws Exception {
        Path out = folder.resolve("plain");
        ProcessBuilder plain = new ProcessBuilder(
                        "bash",
                        "-c",
                        "exec \"$0\" -cp \"$(\"$1\" classpath):target/my-model.jar\" com.example.Train",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        JRun.SCRIPTS.resolve("jrun").toString())
                .directory(project.toFile())
                .redirectErrorStream(true)
                .redirectOutput(out.toFile());
        plain.environment().put("JRUN_HOME", Objects.requireNonNull(System.getProperty("jrun.home")));
        plain.environment().put("XDG_CACHE_HOME", folder.resolve("cache").toString());
        plain.environment().put("JRUN_NO_ARCHIVE", "1");
        Process java = plain.start();
        boolean ended = java.waitFor(BUILD_SECONDS, TimeUnit.SECONDS);
        java.destroyForcibly();
        assertThat(ended && java.exitValue() == 0).as(Files.readString(out)).isTrue();
        assertThat(out).content().contains("epoch 50 loss ");
    }

    /** So a build of jrun leaves all that a project needs in Maven's cache. */
    private static void assertPluginsAreThoseOfJrunsOwnPom(Path pom) throws IOException {
        String own = Files.readString(JRun.SCRIPTS.resolveSibling("pom.xml")).replaceAll("\\s+", "");
        List<String> plugins = PLUGIN.matcher(Files.readString(pom))
                .results()
                .map(plugin -> plugin.group().replaceAll("\\s+", ""))
                .toList();
        assertThat(plugins).hasSize(6).allSatisfy(plugin -> assertThat(own).contains(plugin));
    }

    private void build(Path project, Path repository) throws IOException, InterruptedException {
        assertThat(maven(project, repository, "package")).content().doesNotContain("WARNING");
    }

    /** The plugin takes the main class from the pom, and runs the classes without a jar. */
    private void assertThePluginTrains(Path project, Path repository) throws IOException, InterruptedException {
        Path log = maven(
                project,
                repository,
                "jrun:run",
                "-Djrun.command=" + JRun.SCRIPTS.resolve("jrun"),
                "-Djrun.nprocPerNode=2",
                "-Djrun.options=--timeout=100 --log-dir=" + folder.resolve("plugin"));
        assertThat(log).content().contains("epoch 50 loss ");
    }

    /** Returns the log. */
    private Path maven(Path project, Path repository, String... words) throws IOException, InterruptedException {
        Path log = folder.resolve("maven.log");
        List<String> command = new ArrayList<>(List.of("mvn", "-B", "-o", "-Dmaven.repo.local=" + repository));
        command.addAll(List.of(words));
        ProcessBuilder maven = new ProcessBuilder(command)
                .directory(project.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile());
        maven.environment().remove("JAVA_HOME"); // the machine's default, which may be older than 25
        maven.environment().put("JRUN_HOME", Objects.requireNonNull(System.getProperty("jrun.home")));
        maven.environment().put("XDG_CACHE_HOME", folder.resolve("cache").toString());
        maven.environment().put("JRUN_NO_ARCHIVE", "1");
        Process build = maven.start();
        boolean ended = build.waitFor(BUILD_SECONDS, TimeUnit.SECONDS);
        build.destroyForcibly();
        assertThat(ended && build.exitValue() == 0).as(Files.readString(log)).isTrue();
        return log;
    }
}
