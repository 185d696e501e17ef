package io.jrun.agent.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ProgramRunTest {
    @TempDir
    private Path folder;

    private Optional<ProgramRun> run(String script, Duration deadline) throws Exception {
        return ProgramRun.of(List.of("/bin/sh", "-c", script), Map.of("WORD", "there"), folder, deadline);
    }

    @Test
    void hasTheOutputAndTheExitCode() throws Exception {
        ProgramRun ended = run("cat; pwd; echo '[ERROR] one'; echo $WORD >&2; exit 3", Duration.ofSeconds(20))
                .orElseThrow();
        assertThat(ended.exitCode()).isEqualTo(3);
        assertThat(ended.output()).isEqualTo(folder.toRealPath() + "\n[ERROR] one\nthere\n");
        assertThat(ended.lastLine()).isEqualTo("there");
        assertThat(ended.firstLineAfter("[ERROR] ")).isEqualTo("one");
        assertThat(ended.firstLineAfter("[WARNING] ")).isEqualTo("no message");
    }

    @Test
    void aRelativeFolderBeginsAtThatOfThisProcess() throws Exception {
        ProgramRun ended = ProgramRun.of(List.of("/bin/pwd"), Map.of(), Path.of(""), Duration.ofSeconds(20))
                .orElseThrow();
        assertThat(ended.output().strip()).isEqualTo(Path.of("").toRealPath().toString());
    }

    @Test
    void aProgramBeyondTheDeadlineIsKilled() throws Exception {
        assertThat(run("echo $$ > pid; exec sleep 1000", Duration.ofMillis(300)))
                .isEmpty();
        long pid = Long.parseLong(Files.readString(folder.resolve("pid")).strip());
        ProcessHandle.of(pid)
                .ifPresent(process ->
                        process.onExit().orTimeout(20, TimeUnit.SECONDS).join());
    }
}
