package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The archive that makes starts fast never makes them wrong. */
class ArchiveIT extends RealJobs {
    private static final String WORKER_FROM_ARCHIVE = "io.jrun.comm.worker.WorkerMain source: shared objects file";

    /** An agent that stood before there were archives starts its workers from them. */
    @Test
    void changedClassesRunAfterARebuild() throws IOException {
        Path home = Homes.copy(folder.resolve("my home"));
        Jars.program(
                folder.resolve("hello.jar"),
                "Hello",
                "public class Hello { public static void main(String[] args) { System.out.println(\"hello\"); } }");
        jrun.with("JRUN_HOME", home.toString()).with("XDG_CACHE_HOME", cache().toString());
        String version = jrun.run("version").out();
        jrun.with("JRUN_NO_ARCHIVE", "");
        try (StandingAgent agent = StandingAgent.start(jrun, folder)) {
            JRun.waitFor(() -> names(".jsa").size() == 2, "the first archives");
            assertThat(jrun.run(agent.with("--jvm-opts=-Xlog:class+load:stdout", "hello.jar"))
                            .out())
                    .contains(WORKER_FROM_ARCHIVE);
        }
        List<String> first = names(".jsa");
        assertThat(jrun.run("version").out()).isEqualTo(version);
        assertThat(jrun.run("--jvm-opts=-Xshare:on", "hello.jar").out())
                .as("with the archive or not at all")
                .endsWith("] hello\n");

        Path elsewhere = Files.writeString(cache().resolve("jrun/launcher-7.jsa"), "");
        Files.writeString(elsewhere.resolveSibling("launcher-7.owner"), "/another/installation\n/jdk\n");
        Homes.replaceClass(
                home.resolve("lib/launcher"),
                "jrun-launcher",
                "io.jrun.launcher.Version",
                "package io.jrun.launcher; final class Version { static final String TEXT = \"changed\"; }");
        Homes.replaceClass(home.resolve("lib/runtime"), "jrun-comm", "io.jrun.comm.worker.WorkerMain", """
                package io.jrun.comm.worker;
                public class WorkerMain {
                    public static void main(String[] args) { System.out.println("changed"); }
                }
                """);
        assertThat(jrun.run("version").out()).startsWith("jrun changed ");
        assertThat(jrun.run("hello.jar").out()).endsWith("] changed\n");
        JRun.waitFor(
                () -> names(".jsa").size() == 3 && Collections.disjoint(first, names("")),
                "the second archives, in place of the first");
        assertThat(elsewhere).exists();
        assertThat(jrun.run("version").out()).startsWith("jrun changed ");
        assertThat(jrun.run("--jvm-opts=-Xshare:on", "hello.jar").out()).endsWith("] changed\n");
        JRun.waitFor(() -> names("").stream().noneMatch(name -> name.contains(".jsa.")), "the end of the archiving");
        assertThat(jrun.run("--jvm-opts=-Xlog:class+load:stdout", "hello.jar").out())
                .contains(WORKER_FROM_ARCHIVE);
        assumeTrue(Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0), "the test needs root from here on");
        Files.setAttribute(cache().resolve("jrun"), "unix:uid", Integer.parseInt(OrdinaryUser.UID));
        assertThat(jrun.run("--jvm-opts=-Xlog:class+load:stdout", "hello.jar").out())
                .as("another user could put classes into the archives of this folder")
                .doesNotContain(WORKER_FROM_ARCHIVE)
                .contains("] changed\n");
    }

    /** Also where the native libraries were unpacked long before the archive was made. */
    @Test
    void theWorkersArchiveHoldsTheClassesOfLibtorchOfJoiningAndOfGoingOnAfterAFailure() throws IOException {
        List<String> classes = List.of(
                "org.bytedeco.pytorch.Tensor",
                "io.jrun.comm.control.AgentChannel",
                "io.jrun.comm.shm.ShmBackend",
                "io.jrun.comm.control.Frame$NextRound");
        Jars.program(folder.resolve("names.jar"), "Names", """
                public class Names {
                    public static void main(String[] args) throws Exception {
                        for (String name : args) {
                            Class.forName(name, false, Names.class.getClassLoader());
                        }
                    }
                }
                """);
        List<String> command = new ArrayList<>(List.of("--jvm-opts=-Xlog:class+load:stdout", "names.jar"));
        command.addAll(classes);
        String out = jrun.run(command.toArray(String[]::new)).out();
        assertThat(classes).allSatisfy(name -> assertThat(out).contains(name + " source: shared objects file"));
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

    private Path cache() {
        return folder.resolve("my cache");
    }

    private List<String> names(String end) {
        try (Stream<Path> files = Files.list(cache().resolve("jrun"))) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(end))
                    .toList();
        } catch (IOException e) {
            return List.of();
        }
    }
}
