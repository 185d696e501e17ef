package io.jrun.launcher;

import io.jrun.launcher.console.LogMultiplexer;
import io.jrun.launcher.console.RankPrefix;
import io.jrun.launcher.job.JobSpec;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * jrun's own stdout and stderr, unbuffered. Thread-safe as the streams are: each line is one write.
 *
 * @param outColoured whether colours may be used on stdout
 */
record Terminal(OutputStream out, OutputStream err, boolean outColoured, boolean errColoured) {
    /** Both streams into {@code file}, which is emptied, and its user's alone. */
    static Terminal toFile(Path file) throws IOException {
        OutputStream stream = Channels.newOutputStream(Files.newByteChannel(
                file,
                Set.of(StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))));
        return new Terminal(stream, stream, false, false);
    }

    /** A sentence of jrun's own, on stderr. */
    void say(String text) {
        error("jrun: " + text);
    }

    /** A line on stderr. */
    void error(String line) {
        write(err, line);
    }

    /** A line on stdout: a result. */
    void print(String line) {
        write(out, line);
    }

    /** Where the output of a job's workers is shown. With --json, stdout is the machine's: what workers print goes to stderr. */
    LogMultiplexer console(JobSpec job) {
        return new LogMultiplexer(
                job.json() ? err : out,
                err,
                new RankPrefix(job.console().prefixed(), outColoured && !job.json(), errColoured),
                job.console().terminals());
    }

    private static void write(OutputStream stream, String line) {
        try {
            stream.write((line.endsWith("\n") ? line : line + "\n").getBytes(StandardCharsets.UTF_8));
            stream.flush();
        } catch (IOException e) {
            // Nobody is left to be told: this stream is how one would tell.
        }
    }
}
