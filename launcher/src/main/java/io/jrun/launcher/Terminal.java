package io.jrun.launcher;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * jrun's own stdout and stderr, unbuffered. Thread-safe as the streams are: each line is one write.
 *
 * @param outColoured whether colours may be used on stdout
 */
record Terminal(OutputStream out, OutputStream err, boolean outColoured, boolean errColoured) {
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

    private static void write(OutputStream stream, String line) {
        try {
            stream.write((line.endsWith("\n") ? line : line + "\n").getBytes(StandardCharsets.UTF_8));
            stream.flush();
        } catch (IOException e) {
            // Nobody is left to be told: this stream is how one would tell.
        }
    }
}
