package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Progress bars of a worker on a real terminal, which script(1) makes, and elsewhere. */
class TerminalIT extends RealJobs {
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
        Running job = jrun.with("NO_COLOR", "1")
                .startUnder(List.of("sh", "-c", "exec script -qefc \"$*\" /dev/null", "sh"), "./bar");
        job.awaitOutput("20%\033[?7h");
        Files.createDirectory(folder.resolve("go"));
        Result result = job.await();
        assertThat(result.exitCode()).as(result.out()).isZero();
        assertThat(result.out()).doesNotContain("10%\r20%").endsWith("] console=terminal\r\n");
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

    private void program() throws IOException {
        Path bar = Files.writeString(folder.resolve("bar"), BAR);
        Files.setPosixFilePermissions(bar, PosixFilePermissions.fromString("rwx------"));
    }
}
