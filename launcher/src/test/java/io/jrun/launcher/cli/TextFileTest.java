package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pipes, as a shell's {@code <(command)} makes them. */
class TextFileTest {
    @TempDir
    private Path folder;

    @Test
    void pipeWithoutAWriterIsNotWaitedForLong() throws Exception {
        Path pipe = pipe();
        assertThatThrownBy(() -> TextFile.read("job.yaml", pipe, Duration.ofSeconds(1)))
                .isInstanceOf(UsageException.class)
                .hasMessage(
                        "job.yaml: a pipe whose writer did not finish within 1 s. Start the program that writes into it,"
                                + " or give a file.");
        Files.newOutputStream(pipe).close(); // releases the thread that still waits
    }

    @Test
    void pipeIsReadToItsEnd() throws Exception {
        Path pipe = pipe();
        Thread writer = Thread.ofPlatform().start(() -> write(pipe, "role: a\n"));
        assertThat(TextFile.read("job.yaml", pipe)).isEqualTo("role: a\n");
        writer.join();
    }

    private static void write(Path pipe, String text) {
        try (OutputStream out = Files.newOutputStream(pipe)) {
            out.write(text.getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private Path pipe() throws IOException, InterruptedException {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        return pipe;
    }
}
