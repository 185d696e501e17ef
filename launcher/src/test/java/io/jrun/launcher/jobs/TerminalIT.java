package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Progress lines of a worker, and of the example program, on a real terminal, which script(1) makes, and elsewhere. */
class TerminalIT extends RealJobs {
    private static final List<String> ON_A_TERMINAL = List.of("sh", "-c", "exec script -qefc \"$*\" /dev/null", "sh");

    /** Workers of the example, 40 steps, a report every 10 steps. */
    private static final String[] TRAINING = {
        Path.of(Objects.requireNonNull(System.getProperty("jrun.home")))
                .resolve("examples/train.jar")
                .toString(),
        "--tiny"
    };

    private static final String PROGRESS = "step \\d+/40 loss \\d+\\.\\d{4} \\d+ tokens/s ETA \\d+:\\d\\d";
    private static final String HELD_OUT = "held-out loss \\d+\\.\\d{4} nats/byte \\(bigram baseline \\d+\\.\\d{4}\\)";

    private static final String BAR = """
            #!/bin/sh
            printf '10%%\\r20%%\\r'
            until [ -e go ]; do sleep 0.05; done
            printf '100%%\\r\\n'
            echo "console=$JRUN_CONSOLE"
            """;

    @Test
    void barIsPaintedOverOnATerminal() throws IOException {
        program();
        Running job = jrun.with("NO_COLOR", "1").startUnder(ON_A_TERMINAL, "./bar");
        job.awaitOutput("20%\033[?7h");
        Files.createDirectory(folder.resolve("go"));
        Result result = job.await();
        assertThat(result.exitCode()).as(result.out()).isZero();
        assertThat(result.out()).doesNotContain("10%\r20%").contains("] console=terminal\r\n");
        assertThat(result.out())
                .as("where the logs are")
                .containsPattern(
                        "\njrun: job " + jrun.runId() + " succeeded after \\d+\\.\\d s; logs: " + jrun.logs() + "\r\n");
        assertThat(result.out()).containsPattern("\r\033\\[K\\[0@\\S+] 100%\r\n");
    }

    @Test
    void elsewhereBytesPassUnchanged() throws IOException {
        program();
        Files.createDirectory(folder.resolve("go"));
        Result result = jrun.with("JRUN_CONSOLE", "terminal").run("./bar");
        assertThat(result.out()).contains("] 10%\r20%\r100%\r\n").endsWith("] console=\n");
        assertThat(Files.readString(jrun.logs().resolve("attempt-0/rank-0000/stdout.log")))
                .isEqualTo("10%\r20%\r100%\r\nconsole=\n");
    }

    @Test
    void trainingOnATerminalRewritesOneLine() {
        Result result = jrun.with("NO_COLOR", "1")
                .startUnder(ON_A_TERMINAL, StandingAgent.join(new String[] {"--nproc-per-node=2"}, TRAINING))
                .await();
        assertThat(result.exitCode()).as(result.out()).isZero();
        assertThat(result.out()).containsPattern("\\[0@\\S+] " + HELD_OUT);
        assertThat(Stream.of(result.out().split("\r?\n"))
                        .map(TerminalIT::lastPainted)
                        .filter(line -> line.contains(" step ")))
                .as(result.out())
                .singleElement()
                .asString()
                .matches("\\[0@\\S+] \\[#{12}] " + PROGRESS);
    }

    @Test
    void trainingElsewherePrintsPlainLines() {
        Result result = jrun.run(StandingAgent.join(new String[] {"--nproc-per-node=1"}, TRAINING));
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out()).doesNotContain("\r", "\033");
        assertThat(result.out().lines().filter(line -> line.contains(" step ")))
                .as(result.out())
                .hasSize(4)
                .allMatch(line -> line.matches("\\[0@\\S+] " + PROGRESS));
        assertThat(result.out().lines().reduce((earlier, later) -> later).orElseThrow())
                .matches("\\[0@\\S+] " + HELD_OUT);
    }

    /** The visible text of a line that was painted over. */
    private static String lastPainted(String line) {
        return line.substring(line.lastIndexOf("\r") + 1).replaceAll("\033\\[[?0-9]*[a-zA-Z]", "");
    }

    private void program() throws IOException {
        Path bar = Files.writeString(folder.resolve("bar"), BAR);
        Files.setPosixFilePermissions(bar, PosixFilePermissions.fromString("rwx------"));
    }
}
