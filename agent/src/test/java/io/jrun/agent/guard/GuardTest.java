package io.jrun.agent.guard;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.Processes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
        String script = "trap '' TERM HUP; sleep 300 & echo $! > '" + folder + "'/child-$RANK; echo $$ > '" + folder
                + "'/worker-$RANK; wait";
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
            Processes.readPid(folder.resolve("child-1"))
        };
        assertThat(LongStream.of(pids)).allMatch(Processes::isAlive);
        assertThat(count(temp)).isEqualTo(1);

        host.destroyForcibly();

        for (long pid : pids) {
            Processes.await(() -> !Processes.isAlive(pid));
        }
        Processes.await(() -> count(temp) == 0);
        assertThat(host.waitFor(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void orderlyCloseEndsTheShellAndRemovesTheFolder() throws IOException {
        Path sockets = Files.createDirectory(folder.resolve("a b"));
        Guard guard = Guard.start(sockets);
        guard.close();
        assertThat(Processes.isAlive(guard.pid())).isFalse();
        assertThat(sockets).doesNotExist();
    }

    @Test
    void sweptGroupIsForgotten() throws IOException {
        Process bystander = new ProcessBuilder("setsid", "sleep", "300").start();
        try (Guard guard = Guard.start(Files.createDirectory(folder.resolve("s")))) {
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
    void signalsStillGoOutWhenSomebodyKilledTheGuard() throws Exception {
        Process target = new ProcessBuilder("setsid", "sleep", "300").start();
        Path sockets = Files.createDirectory(folder.resolve("s"));
        try (Guard guard = Guard.start(sockets)) {
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
