package io.jrun.agent.guard;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.Processes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class GuardTest {
    @TempDir
    Path folder;

    @Test
    void nothingOutlivesAnAgentThatIsKilled() throws Exception {
        Path temp = Files.createDirectory(folder.resolve("tmp"));
        String script = "trap '' TERM HUP; shm=/dev/shm/jrun-$(id -u)-$JRUN_RUN_ID-$RANK; echo $shm > '" + folder
                + "'/shm-$RANK; exec 9> $shm; flock -s 9; sleep 300 & echo $! > '" + folder + "'/child-$RANK;"
                + " env -i setsid /bin/sh -c 'echo $$ > \"$0\"; exec sleep 300' '" + folder + "'/daemon-$RANK 9>&- &"
                + " echo $$ > '" + folder + "'/worker-$RANK; wait";
        Process host = new ProcessBuilder(
                        System.getProperty("java.home") + "/bin/java",
                        "-Djava.io.tmpdir=" + temp,
                        "-cp",
                        System.getProperty("java.class.path"),
                        AgentHostMain.class.getName(),
                        folder.toString(),
                        script)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        long[] pids = {
            Processes.readPid(folder.resolve("worker-0")),
            Processes.readPid(folder.resolve("worker-1")),
            Processes.readPid(folder.resolve("child-0")),
            Processes.readPid(folder.resolve("child-1")),
            Processes.readPid(folder.resolve("daemon-0")),
            Processes.readPid(folder.resolve("daemon-1"))
        };
        List<Path> segments = List.of(
                Path.of(Files.readString(folder.resolve("shm-0")).strip()),
                Path.of(Files.readString(folder.resolve("shm-1")).strip()));
        assertThat(segments).allMatch(Files::exists);
        assertThat(LongStream.of(pids)).allMatch(Processes::isAlive);
        assertThat(count(temp)).isEqualTo(1);

        host.destroyForcibly();

        for (long pid : pids) {
            Processes.await(() -> !Processes.isAlive(pid));
        }
        Processes.await(() -> count(temp) == 0);
        assertThat(segments).noneMatch(Files::exists);
        assertThat(host.waitFor(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void orderlyCloseEndsTheShellAndRemovesTheFolder() throws IOException {
        Path sockets = Files.createDirectory(folder.resolve("a b"));
        Guard guard = Guard.start(sockets, "jrun-test-none");
        guard.close();
        assertThat(Processes.isAlive(guard.pid())).isFalse();
        assertThat(sockets).doesNotExist();
    }

    @Test
    void sweptGroupIsForgotten() throws IOException {
        Process bystander = new ProcessBuilder("setsid", "sleep", "300").start();
        try (Guard guard = Guard.start(Files.createDirectory(folder.resolve("s")), "jrun-test-none")) {
            guard.add(bystander.pid());
            guard.add(1_000_000_000);
            guard.sweep(1_000_000_000);
            guard.signalGroup(bystander.pid(), 9);
            Processes.await(() -> !bystander.isAlive());
        } finally {
            bystander.destroyForcibly();
        }
    }

    @Test
    void signalsAreStillSentAfterAKillOfTheGuard() throws Exception {
        Process target = new ProcessBuilder("setsid", "sleep", "300").start();
        Path sockets = Files.createDirectory(folder.resolve("s"));
        try (Guard guard = Guard.start(sockets, "jrun-test-none")) {
            ProcessHandle shell = ProcessHandle.of(guard.pid()).orElseThrow();
            shell.destroyForcibly();
            Processes.await(() -> !Processes.isAlive(guard.pid()));
            guard.signalGroup(target.pid(), 9);
            assertThat(target.waitFor(10, TimeUnit.SECONDS)).isTrue();
        } finally {
            target.destroyForcibly();
        }
    }

    private static long count(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().startsWith("jrun-"))
                    .count();
        }
    }
}
