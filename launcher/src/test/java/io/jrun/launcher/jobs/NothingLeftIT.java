package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The check that nothing is left, held against things that are. */
@Tag("alone") // others sweep shared memory
class NothingLeftIT {
    private final Leftovers leftovers = Leftovers.sinceNow();

    @Test
    void processIsFoundAndEnded() throws Exception {
        // start() returns while the kernel still sets up the variables of the new program. Its first line comes later.
        ProcessBuilder builder = new ProcessBuilder("setsid", "sh", "-c", "echo up; read -r line");
        builder.environment().put(Leftovers.OWNER_VARIABLE, Leftovers.OWNER);
        Process process = builder.start();
        try (BufferedReader lines = process.inputReader()) {
            assertThat(lines.readLine()).isEqualTo("up");
            assertFound("process " + process.pid());
        } finally {
            Leftovers.endProcesses();
        }
        assertNothingFound();
    }

    @Test
    void sharedMemoryIsFound() throws IOException {
        // No user has this number, so no job that runs at the same time takes the file for its own.
        Path file = Files.createFile(Path.of("/dev/shm/jrun-4294967294-" + JRun.RUN_ID_START + "0-digest-0"));
        try {
            assertFound(file.toString());
        } finally {
            Files.delete(file);
        }
        assertNothingFound();
    }

    @Test
    void folderOfADeadAgentIsFound() throws Exception {
        Process agent = new ProcessBuilder("true").start();
        agent.waitFor();
        Path ofAnotherTest = Files.createDirectory(
                Path.of(System.getProperty("java.io.tmpdir")).resolve("jrun-" + agent.pid() + "-1"));
        assertNothingFound();
        Files.delete(ofAnotherTest);
        Leftovers.started(agent);
        Path folder = Files.createDirectory(
                Path.of(System.getProperty("java.io.tmpdir")).resolve("jrun-" + agent.pid() + "-0"));
        try {
            assertFound(folder.toString());
        } finally {
            Files.delete(folder);
        }
        assertNothingFound();
    }

    private void assertFound(String what) {
        assertThatThrownBy(() -> NothingLeft.check(leftovers, Duration.ZERO))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("nothing left behind; found")
                .hasMessageContaining(what);
    }

    private void assertNothingFound() {
        assertThatCode(() -> NothingLeft.check(leftovers, Duration.ofSeconds(5)))
                .doesNotThrowAnyException();
    }
}
