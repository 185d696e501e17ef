package io.jrun.agent.log;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Forwards a byte stream without the first line that is exactly the JVM's notice about the Vector API. The JVM has no
 * option to suppress this notice. The filter delays at most the bytes of this line, and nothing after the line.
 * Confined to one thread.
 */
public final class IncubatorLineFilter {
    /** The receiver of the bytes. */
    public interface LineSink {
        /** Takes {@code length} bytes from {@code offset}. */
        void write(byte[] bytes, int offset, int length) throws IOException;
    }

    private static final byte[] LINE =
            "WARNING: Using incubator modules: jdk.incubator.vector\n".getBytes(StandardCharsets.US_ASCII);

    private final LineSink sink;
    private int matched; // bytes of LINE seen at the start of the current line and not yet passed on; -1 inside another
    // line
    private boolean dropped;

    /** A filter in front of {@code sink}. */
    public IncubatorLineFilter(LineSink sink) {
        this.sink = sink;
    }

    /** Takes the next bytes of the stream. */
    public void write(byte[] bytes, int length) throws IOException {
        int start = 0;
        for (int i = 0; i < length && !dropped; i++) {
            if (matched >= 0 && bytes[i] == LINE[matched]) {
                start = matchOne(bytes, start, i);
            } else {
                releaseHeld();
                matched = bytes[i] == '\n' ? 0 : -1;
            }
        }
        sink.write(bytes, start, length - start);
    }

    /** Called at the end of the stream. Forwards the delayed bytes. */
    public void end() throws IOException {
        releaseHeld();
    }

    private int matchOne(byte[] bytes, int start, int at) throws IOException {
        if (matched == 0) {
            sink.write(bytes, start, at - start);
        }
        matched++;
        if (matched == LINE.length) {
            dropped = true;
            matched = 0;
        }
        return at + 1;
    }

    private void releaseHeld() throws IOException {
        if (matched > 0) {
            sink.write(LINE, 0, matched);
            matched = 0;
        }
    }
}
