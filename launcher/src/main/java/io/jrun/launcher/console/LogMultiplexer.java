package io.jrun.launcher.console;

import io.jrun.launcher.job.TerminalStreams;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * Shows the workers' output. Chunks hold whole lines, so lines of different workers never mix; on a terminal also a
 * line to be painted over, see {@link ProgressLine}. Thread-safe. Whoever brings chunks waits for a terminal that
 * stands still, and with them the worker's agent; nobody waits to {@link #printLine}.
 */
public final class LogMultiplexer {
    /** One output stream of one worker in one round. */
    public record LogSource(int round, int rank, boolean stderr) {}

    /**
     * Silence is counted in turns of this length: a stop of this process (Ctrl-Z) lengthens one of them and adds none.
     */
    private static final long TURN_MILLIS = 100;

    /** How long a terminal may take for jrun's own last lines when the user does not want to wait for it. */
    private static final long LAST_WORDS_MILLIS = 1_000;

    private final OutputStream out;
    private final OutputStream err;
    private final RankPrefix prefix;
    private final TerminalStreams terminals;
    private final ProgressLine live;
    private final LauncherMessages own;
    private final Object screen = new Object();
    private final Set<LogSource> open = new HashSet<>();
    private final Set<LogSource> cut = new HashSet<>(); // whose last chunk ended inside a line; guarded by screen
    private int writing;
    private boolean givenUp;
    private long chunks;

    /** A mux onto {@code out} and {@code err}, which it flushes after every chunk. */
    public LogMultiplexer(OutputStream out, OutputStream err, RankPrefix prefix, TerminalStreams terminals) {
        this.out = out;
        this.err = err;
        this.prefix = prefix;
        this.terminals = terminals;
        this.live = new ProgressLine(prefix);
        this.own = new LauncherMessages(err, this::writeOwn);
    }

    /** Announces a stream that will end with a last chunk. */
    public synchronized void expect(LogSource source) {
        open.add(source);
    }

    /**
     * Shows {@code data}: lines, each with its newline, or a piece of a line. {@code last}: the stream has ended.
     * Blocks as the terminal does.
     */
    public void print(LogSource source, String host, byte[] data, boolean last) {
        synchronized (this) {
            writing++;
        }
        try {
            synchronized (screen) {
                put(source, host, data, last);
            }
        } finally {
            chunkDone(source, last);
        }
    }

    private void put(LogSource source, String host, byte[] data, boolean last) {
        boolean terminal = isTerminal(source.stderr());
        boolean continued = cut.remove(source);
        if (!last && (data.length == 0 ? continued : endsInsideLine(data, terminal))) {
            cut.add(source);
        }
        // The console has ended the line after the piece before.
        byte[] rest = continued && data.length > 0 && data[0] == '\n' ? Arrays.copyOfRange(data, 1, data.length) : data;
        boolean inside = continued && rest.length == data.length;
        if (terminal) {
            byte[] clear = live.clear();
            aboveLiveLine(source.stderr(), clear, live.take(source, host, rest, inside, last));
        } else {
            write(source.stderr() ? err : out, prefix.apply(source.rank(), host, source.stderr(), rest, inside));
        }
    }

    /** Agents cut lines that are too long, and nothing else, into chunks. */
    private static boolean endsInsideLine(byte[] data, boolean terminal) {
        byte end = data[data.length - 1];
        return end != '\n' && !(terminal && end == '\r');
    }

    /** A line of jrun's own, on stderr, in the order in which they are said. Does not wait for the terminal. */
    public void printLine(String line) {
        print(err, line);
    }

    /** The same on {@code stream}. */
    public void print(OutputStream stream, String line) {
        own.add(stream, line.endsWith("\n") ? line : line + "\n");
    }

    private void writeOwn(OutputStream stream, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        synchronized (screen) {
            if (stream.equals(err) && isTerminal(true)) {
                aboveLiveLine(true, live.clear(), bytes);
            } else {
                write(stream, bytes);
            }
        }
    }

    private boolean isTerminal(boolean stderr) {
        return stderr ? terminals.stderr() : terminals.stdout();
    }

    /** Whichever stream the live line came by, every terminal here is the same one. */
    private void aboveLiveLine(boolean stderr, byte[] clear, byte[] lines) {
        ByteArrayOutputStream text = new ByteArrayOutputStream(lines.length);
        text.writeBytes(clear);
        text.writeBytes(lines);
        text.writeBytes(live.paint());
        write(stderr ? err : out, text.toByteArray());
    }

    private synchronized void chunkDone(LogSource source, boolean last) {
        writing--;
        chunks++;
        if (last) {
            open.remove(source);
        }
        notifyAll();
    }

    /** Whoever read our output may be gone; the job, and its log files, go on without. */
    private static void write(OutputStream stream, byte[] text) {
        if (text.length == 0) {
            return;
        }
        try {
            stream.write(text);
            stream.flush();
        } catch (IOException e) {
            // Nobody is left to be told: this stream is how one would tell.
        }
    }

    /** A worker that never started has no output to wait for. */
    public synchronized void forget(int round, int rank) {
        open.remove(new LogSource(round, rank, false));
        open.remove(new LogSource(round, rank, true));
        notifyAll();
    }

    /** Nothing more can come of these: their node is lost. */
    public synchronized void forget(Set<LogSource> sources) {
        open.removeAll(sources);
        notifyAll();
    }

    /** Ends {@link #awaitDrained} and {@link #awaitSaid}: the user does not want to wait for a slow terminal. */
    public synchronized void giveUp() {
        givenUp = true;
        notifyAll();
    }

    private synchronized boolean isGivenUp() {
        return givenUp;
    }

    /**
     * Waits until every expected stream has been shown to its end. Returns early when nothing has come for {@code idle}
     * and nothing is being written: then the rest is not coming.
     */
    public synchronized void awaitDrained(Duration idle) throws InterruptedException {
        long seen = chunks;
        long timeoutOrder = Math.max(1, idle.toMillis() / TURN_MILLIS);
        long silentTurns = 0;
        while (silentTurns < timeoutOrder && !open.isEmpty() && !givenUp) {
            wait(TURN_MILLIS);
            silentTurns = chunks == seen && writing == 0 ? silentTurns + 1 : 0;
            seen = chunks;
        }
    }

    /**
     * Waits until the terminal has taken what jrun has said, however long that takes; when given up, for a moment more.
     */
    public void awaitSaid() throws InterruptedException {
        while (!own.awaitWritten(TURN_MILLIS)) {
            if (isGivenUp()) {
                own.awaitWritten(LAST_WORDS_MILLIS);
                return;
            }
        }
    }
}
