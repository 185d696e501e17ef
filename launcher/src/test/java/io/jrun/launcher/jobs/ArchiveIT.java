package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The archive that makes starts fast never makes them wrong. */
class ArchiveIT extends RealJobs {
    private static final String WORKER_FROM_ARCHIVE = "io.jrun.comm.worker.WorkerMain source: shared objects file";

    /** An agent that stood before there were archives starts its workers from them. */
    @Test
    void archivesReplaceThoseOfAnEarlierBuildAndChangedClassesRunAfterARebuild()
            throws IOException, InterruptedException {
        Path home = Homes.copy(folder.resolve("my home"));
        Jars.program(
                folder.resolve("hello.jar"),
                "Hello",
                "public class Hello { public static void main(String[] args) { System.out.println(\"hello\"); } }");
        jrun.with("JRUN_HOME", home.toString()).with("XDG_CACHE_HOME", cache().toString());
        String jdk = TestCommand.run("bash", "-c", ". \"$0\"; find_jdk", "" + JRun.SCRIPTS.resolve("find-jdk"));
        Path earlier = madeBy(home.toRealPath() + "\n" + jdk, 7);
        Path elsewhere = madeBy("/another/installation\n" + jdk, 8);
        String version = jrun.run("version").out();
        jrun.with("JRUN_NO_ARCHIVE", "");
        try (StandingAgent agent = StandingAgent.start(jrun, folder)) {
            JRun.waitFor(() -> names(".jsa").size() == 3 && !Files.exists(earlier), "archives in place of the earlier");
            JRun.waitFor(
                    () -> names("").stream().noneMatch(name -> name.contains(".jsa.")), "the end of the archiving");
            assertThat(jrun.run(agent.with("--jvm-opts=-Xlog:class+load:stdout", "hello.jar"))
                            .out())
                    .contains(WORKER_FROM_ARCHIVE);
        }
        assertThat(elsewhere).exists();
        assertThat(jrun.run("version").out()).isEqualTo(version);
        assertThat(jrun.run("--jvm-opts=-Xshare:on", "hello.jar").out())
                .as("with the archive or not at all")
                .endsWith("] hello\n");
        String archive = archiveOfAJob();
        assertThat(names(".jsa")).contains(archive);
        if (Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0)) {
            Files.setAttribute(cache().resolve("jrun"), "unix:uid", Integer.parseInt(OrdinaryUser.UID));
            assertThat(jrun.run("--jvm-opts=-Xlog:class+load:stdout", "hello.jar")
                            .out())
                    .as("another user could put classes into the archives of this folder")
                    .doesNotContain(WORKER_FROM_ARCHIVE)
                    .contains("] hello\n");
            Files.setAttribute(cache().resolve("jrun"), "unix:uid", 0);
        } else {
            System.out.println("ArchiveIT: only root can give the folder of the archives to another user");
        }

        jrun.with("JRUN_NO_ARCHIVE", "1");
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
        assertThat(archiveOfAJob()).as("the next archive has another name").isNotIn(names(".jsa"));
    }

    /** Makes the files of archives of a {@code number}; returns the launcher's archive. */
    private Path madeBy(String owner, int number) throws IOException {
        Path jrunCache = Files.createDirectories(cache().resolve("jrun"));
        Files.writeString(jrunCache.resolve("launcher-" + number + ".owner"), owner);
        return Files.writeString(jrunCache.resolve("launcher-" + number + ".jsa"), "");
    }

    /** The name of the archive with which the launcher of a job would start its workers. */
    private String archiveOfAJob() {
        JRun.Running job = jrun.start("sh", "-c", "echo on; read line").awaitOutput("on");
        String command = JRun.read(Path.of("/proc/" + job.process().pid() + "/cmdline"));
        job.signal("TERM");
        job.await();
        Matcher archive = Pattern.compile("-Djrun.worker.archive=[^\0]*/(worker-\\d+\\.jsa)\0")
                .matcher(command);
        assertThat(archive.find()).as(command).isTrue();
        return archive.group(1);
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
