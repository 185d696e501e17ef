package io.jrun.launcher;

import io.jrun.comm.file.ControlCharacters;
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
 * jrun's own stdout and stderr, unbuffered. Each line is one write, so the type is as thread-safe as the streams.
 *
 * @param outColoured whether stdout may have colours
 */
record Terminal(OutputStream out, OutputStream err, boolean outColoured, boolean errColoured) {
    /** Writes both streams to {@code file}. The file is emptied, and only its user can read the file. */
    static Terminal toFile(Path file) throws IOException {
        OutputStream stream = Channels.newOutputStream(Files.newByteChannel(
                file,
                Set.of(StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))));
        return new Terminal(stream, stream, false, false);
    }

    /** Prints a message of jrun on stderr. The message may have names and lines of files. */
    void report(String text) {
        error("jrun: " + ControlCharacters.replaced(text));
    }

    /** Prints a line on stderr. */
    void error(String line) {
        write(err, line);
    }

    /** Prints a result line on stdout. */
    void print(String line) {
        write(out, line);
    }

    /**
     * Returns the console of the workers of a job. With --json stdout is for the JSON, so the output of workers goes to
     * stderr.
     */
    LogMultiplexer console(JobSpec job) {
        return new LogMultiplexer(
                job.json() ? err : out,
                err,
                new RankPrefix(
                        job.console().prefixed(),
                        job.console()
                                .prefixTemplate()
                                .map(text -> new RankPrefix.Template(
                                        text, job.workers().role())),
                        outColoured && !job.json(),
                        errColoured),
                job.console().terminals());
    }

    private static void write(OutputStream stream, String line) {
        try {
            stream.write((line.endsWith("\n") ? line : line + "\n").getBytes(StandardCharsets.UTF_8));
            stream.flush();
        } catch (IOException e) {
            // The stream for error messages has failed, so the error cannot be printed.
        }
    }
}
