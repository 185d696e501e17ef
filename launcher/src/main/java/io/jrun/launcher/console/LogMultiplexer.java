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
 * Shows the output of the workers. Chunks hold whole lines, so lines of different workers never mix. A terminal also
 * shows a {@link ProgressLine}. Thread-safe. A blocked terminal blocks {@link #print(LogSource, WorkerPlace, byte[],
 * boolean)}, its caller and the agent of the worker. {@link #printLine} never blocks.
 */
public final class LogMultiplexer {
    /** One output stream of one worker in one round. */
    public record LogSource(int round, int rank, boolean stderr) {}

    /**
     * The length of a wait in milliseconds. Silence is counted in waits, because a stop of this process (Ctrl-Z) makes
     * one wait longer and adds no wait.
     */
    private static final long TURN_MILLIS = 100;

    /** The deadline in milliseconds for jrun's last lines when the user does not want to wait for the terminal. */
    private static final long LAST_WORDS_MILLIS = 1_000;

    private final OutputStream out;
    private final OutputStream err;
    private final RankPrefix prefix;
    private final TerminalStreams terminals;
    private final ProgressLine live;
    private final LauncherMessages own;
    private final Object screen = new Object();
    private final Set<LogSource> open = new HashSet<>();
    private final Set<LogSource> cut = new HashSet<>(); // the last chunk ended inside a line; guarded by screen
    private int writing;
    private boolean givenUp;
    private long chunks;

    /** Writes to {@code out} and {@code err}, and flushes the stream after every chunk. */
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
     * Shows {@code data}: lines, each with its newline, or a piece of a line. Blocks while the terminal blocks.
     *
     * @param last whether the stream has ended
     */
    public void print(LogSource source, WorkerPlace place, byte[] data, boolean last) {
        synchronized (this) {
            writing++;
        }
        try {
            synchronized (screen) {
                put(source, place, data, last);
            }
        } finally {
            chunkDone(source, last);
        }
    }

    private void put(LogSource source, WorkerPlace place, byte[] data, boolean last) {
        boolean terminal = isTerminal(source.stderr());
        boolean continued = cut.remove(source);
        if (!last && (data.length == 0 ? continued : endsInsideLine(data, terminal))) {
            cut.add(source);
        }
        // The console has already ended the line of the previous piece.
        byte[] rest = continued && data.length > 0 && data[0] == '\n' ? Arrays.copyOfRange(data, 1, data.length) : data;
        boolean inside = continued && rest.length == data.length;
        if (terminal) {
            byte[] clear = live.clear();
            aboveLiveLine(source.stderr(), clear, live.take(source, place, rest, inside, last));
        } else {
            write(source.stderr() ? err : out, prefix.apply(source.rank(), place, source.stderr(), rest, inside));
        }
    }

    /** Whether a chunk ends inside a line. Agents cut only lines that are too long. */
    private static boolean endsInsideLine(byte[] data, boolean terminal) {
        byte end = data[data.length - 1];
        return end != '\n' && !(terminal && end == '\r');
    }

    /** Prints a line of jrun on stderr, in the order of the calls. Does not wait for the terminal. */
    public void printLine(String line) {
        print(err, line);
    }

    /** Prints a line of jrun on {@code stream}. Does not wait for the terminal. */
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

    /** Writes lines above the progress line. Both streams have the same terminal, if they have one. */
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

    /** Writes and ignores errors: when the reader of the output has ended, the job and its log files continue. */
    private static void write(OutputStream stream, byte[] text) {
        if (text.length == 0) {
            return;
        }
        try {
            stream.write(text);
            stream.flush();
        } catch (IOException e) {
            // The launcher cannot report the error, because this stream is the way to the user.
        }
    }

    /** Stops waiting for the output of a worker that never started. */
    public synchronized void forget(int round, int rank) {
        open.remove(new LogSource(round, rank, false));
        open.remove(new LogSource(round, rank, true));
        notifyAll();
    }

    /** Stops waiting for streams of a lost node. */
    public synchronized void forget(Set<LogSource> sources) {
        open.removeAll(sources);
        notifyAll();
    }

    /** Ends {@link #awaitDrained} and {@link #awaitPrinted}: the user does not want to wait for a slow terminal. */
    public synchronized void giveUp() {
        givenUp = true;
        notifyAll();
    }

    private synchronized boolean isGivenUp() {
        return givenUp;
    }

    /**
     * Waits until every expected stream has been shown to its end. Returns early when no chunk arrives and no write
     * runs for {@code idle}.
     */
    public synchronized void awaitDrained(Duration idle) throws InterruptedException {
        long seen = chunks;
        long mostTurns = Math.max(1, idle.toMillis() / TURN_MILLIS);
        long silentTurns = 0;
        while (silentTurns < mostTurns && !open.isEmpty() && !givenUp) {
            wait(TURN_MILLIS);
            silentTurns = chunks == seen && writing == 0 ? silentTurns + 1 : 0;
            seen = chunks;
        }
    }

    /**
     * Waits without a limit until the terminal has taken all lines of jrun. After {@link #giveUp} waits at most a
     * second more.
     */
    public void awaitPrinted() throws InterruptedException {
        while (!own.awaitWritten(TURN_MILLIS)) {
            if (isGivenUp()) {
                own.awaitWritten(LAST_WORDS_MILLIS);
                return;
            }
        }
    }
}
