package io.jrun.agent.log;

import com.google.protobuf.ByteString;
import io.jrun.agent.proto.LogChunk;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The console's reader of the log files. Sends whole lines of all streams in turn while the reader's credit is positive, so
 * that credit may be overdrawn by one piece but a line is not torn; remembers a position per file and nothing else, so a
 * reader that stops costs no memory and holds up nobody. One thread, from {@link #attach} to {@link #close}.
 */
public final class ConsoleFeed implements AutoCloseable {
    private final Consumer<String> notice;
    private final List<Source> sources = new ArrayList<>();
    private long credit;
    private boolean changed;
    private boolean lastRound;
    private boolean closed;
    private @Nullable Thread thread;

    /** A feed without sources or reader; {@code notice} takes a sentence when a file cannot be read back. */
    public ConsoleFeed(Consumer<String> notice) {
        this.notice = notice;
    }

    /**
     * Adds a stream that the console shall see. If it sees that file already, as another rank's or round's, that stream ends
     * for it, and what was not yet sent comes as this one's.
     *
     * @param onTerminal the console is a terminal, on which a line may be painted over
     */
    public synchronized void add(int rank, int round, boolean stderr, boolean onTerminal, LogFile file) {
        LogChunk header = LogChunk.newBuilder()
                .setRank(rank)
                .setRound(round)
                .setStderr(stderr)
                .build();
        Source known = source(file);
        if (known == null) {
            sources.add(new Source(header, onTerminal, file));
        } else {
            known.nextHeaders.add(header);
        }
        changed();
    }

    private synchronized @Nullable Source source(LogFile file) {
        return sources.stream()
                .filter(source -> source.file.equals(file))
                .findFirst()
                .orElse(null);
    }

    /** Says that some file has grown or ended. Cheap, called for every write. */
    public synchronized void changed() {
        changed = true;
        notifyAll();
    }

    /** Lets the reader have more. */
    public synchronized void grant(long bytes) {
        credit += bytes;
        changed();
    }

    /**
     * Starts to send, on a thread of this feed.
     *
     * @param onClose runs after the last chunk, once this feed is closed
     * @throws IllegalStateException if there is a reader already: two would each see half
     */
    public synchronized void attach(Consumer<LogChunk> reader, Runnable onClose) {
        if (thread != null) {
            throw new IllegalStateException("this job's log stream is already being read");
        }
        thread = Thread.ofPlatform().daemon().name("jrun-console-feed").start(() -> run(reader, onClose));
    }

    /** No more streams will be added: closes this feed once all has been sent. */
    public synchronized void closeWhenSent() {
        lastRound = true;
        changed();
    }

    /** Stops sending; what was not yet sent stays in the files. */
    @Override
    public synchronized void close() {
        closed = true;
        notifyAll();
    }

    private void run(Consumer<LogChunk> reader, Runnable onClose) {
        while (awaitChange()) {
            boolean progress = true;
            while (progress) {
                progress = false;
                for (Source source : openSources()) {
                    progress |= sendOne(source, reader);
                }
            }
            closeIfSent();
        }
        closeSources();
        onClose.run();
    }

    /** Waits for news; false when closed. The wait ends with every write, grant and end of a stream, and with the feed. */
    private synchronized boolean awaitChange() {
        try {
            while (!closed && !changed) {
                wait();
            }
        } catch (InterruptedException e) {
            closed = true;
        }
        changed = false;
        return !closed;
    }

    private synchronized void closeIfSent() {
        closed |= lastRound && sources.isEmpty();
    }

    private synchronized List<Source> openSources() {
        return closed ? List.of() : List.copyOf(sources);
    }

    private boolean sendOne(Source source, Consumer<LogChunk> reader) {
        if (!hasCredit()) {
            return false;
        }
        Optional<LogChunk> chunk = next(source);
        if (chunk.isEmpty()) {
            return false;
        }
        spend(chunk.get().getData().size());
        if (source.done) {
            remove(source);
        }
        reader.accept(chunk.get());
        return true;
    }

    private Optional<LogChunk> next(Source source) {
        try {
            return source.next();
        } catch (IOException e) {
            notice.accept("the console misses the rest of " + source.file.path() + ": " + e.getMessage());
            return Optional.of(source.end());
        }
    }

    private synchronized void closeSources() {
        sources.forEach(Source::close);
        sources.clear();
    }

    private synchronized boolean hasCredit() {
        return credit > 0 && !closed;
    }

    private synchronized void spend(long bytes) {
        credit -= bytes;
    }

    private synchronized void remove(Source source) {
        sources.remove(source);
        source.close();
    }

    /** One stream of one worker; confined to the feed's thread once it was added. */
    private static final class Source {
        private final boolean onTerminal;
        private final LogFile file;
        private final Queue<LogChunk> nextHeaders = new ConcurrentLinkedQueue<>();
        private LogChunk header;
        private @Nullable LineCutter cutter;
        private boolean done;

        Source(LogChunk header, boolean onTerminal, LogFile file) {
            this.header = header;
            this.onTerminal = onTerminal;
            this.file = file;
        }

        Optional<LogChunk> next() throws IOException {
            if (!nextHeaders.isEmpty()) {
                LogChunk last = last();
                header = nextHeaders.remove();
                return Optional.of(last);
            }
            boolean ended = file.isEnded(); // read first: an end seen here means that the cutter sees every byte
            if (cutter == null) {
                cutter = new LineCutter(file, onTerminal);
            }
            Optional<ByteString> piece = cutter.next();
            if (piece.isPresent()) {
                return Optional.of(header.toBuilder().setData(piece.get()).build());
            }
            return ended ? Optional.of(end()) : Optional.empty();
        }

        /** The last chunk of all. */
        LogChunk end() {
            done = true;
            return last();
        }

        private LogChunk last() {
            return header.toBuilder().setLast(true).build();
        }

        void close() {
            if (cutter != null) {
                cutter.close();
            }
        }
    }
}
