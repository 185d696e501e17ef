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
 * Reads the log files for the console. The feed sends whole lines of all streams in turn while the credit of the reader
 * is positive. One piece may therefore exceed the credit, but a line is never split. The feed keeps only a position for
 * each file, so a reader that stops takes no memory and delays nothing. One thread runs the feed, from {@link #attach}
 * to {@link #close}.
 */
public final class ConsoleFeed implements AutoCloseable {
    private final Consumer<String> notice;
    private final List<FeedSource> sources = new ArrayList<>();
    private long credit;
    private boolean changed;
    private boolean lastRound;
    private boolean closed;
    private @Nullable Thread thread;

    /** A feed without sources and without a reader. {@code notice} receives a message if a file is unreadable. */
    public ConsoleFeed(Consumer<String> notice) {
        this.notice = notice;
    }

    /**
     * Adds a stream for the console. If the console already reads this file as the stream of another rank or round,
     * that stream ends, and the rest of the file comes as this stream.
     *
     * @param onTerminal whether the console is a terminal, on which lines can be overwritten
     */
    public synchronized void add(int rank, int localRank, int round, boolean stderr, boolean onTerminal, LogFile file) {
        LogChunk header = LogChunk.newBuilder()
                .setRank(rank)
                .setLocalRank(localRank)
                .setRound(round)
                .setStderr(stderr)
                .build();
        FeedSource known = source(file);
        if (known == null) {
            sources.add(new FeedSource(header, onTerminal, file));
        } else {
            known.nextHeaders.add(header);
        }
        changed();
    }

    private synchronized @Nullable FeedSource source(LogFile file) {
        return sources.stream()
                .filter(source -> source.file.equals(file))
                .findFirst()
                .orElse(null);
    }

    /** Notifies the feed that a file has grown or ended. Cheap; called for every write. */
    public synchronized void changed() {
        changed = true;
        notifyAll();
    }

    /** Grants the reader further bytes. */
    public synchronized void grant(long bytes) {
        credit += bytes;
        changed();
    }

    /**
     * Starts to send, on a thread of this feed.
     *
     * @param onClose runs after the last chunk, once this feed is closed
     * @throws IllegalStateException if there is a reader already, because two readers would each get half of the output
     */
    public synchronized void attach(Consumer<LogChunk> reader, Runnable onClose) {
        if (thread != null) {
            throw new IllegalStateException("this job's log stream is already being read");
        }
        thread = Thread.ofPlatform().daemon().name("jrun-console-feed").start(() -> run(reader, onClose));
    }

    /** Closes this feed when everything has been sent. No stream may be added after this call. */
    public synchronized void closeWhenSent() {
        lastRound = true;
        changed();
    }

    /** Stops sending. Unsent output stays in the files. */
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
                for (FeedSource source : openSources()) {
                    progress |= sendOne(source, reader);
                }
            }
            closeIfSent();
        }
        closeSources();
        onClose.run();
    }

    /** Waits for a change: a write, a grant, or the end of a stream. Returns false when the feed is closed. */
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

    private synchronized List<FeedSource> openSources() {
        return closed ? List.of() : List.copyOf(sources);
    }

    private boolean sendOne(FeedSource source, Consumer<LogChunk> reader) {
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

    private Optional<LogChunk> next(FeedSource source) {
        try {
            return source.next();
        } catch (IOException e) {
            notice.accept("the console misses the rest of " + source.file.path() + ": " + e.getMessage());
            return Optional.of(source.end());
        }
    }

    private synchronized void closeSources() {
        sources.forEach(FeedSource::close);
        sources.clear();
    }

    private synchronized boolean hasCredit() {
        return credit > 0 && !closed;
    }

    private synchronized void spend(long bytes) {
        credit -= bytes;
    }

    private synchronized void remove(FeedSource source) {
        sources.remove(source);
        source.close();
    }

    /** One stream of one worker. Confined to the thread of the feed after it was added. */
    private static final class FeedSource {
        private final boolean onTerminal;
        private final LogFile file;
        private final Queue<LogChunk> nextHeaders = new ConcurrentLinkedQueue<>();
        private LogChunk header;
        private @Nullable LineCutter cutter;
        private boolean done;

        FeedSource(LogChunk header, boolean onTerminal, LogFile file) {
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

        /** The last chunk of the stream. */
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
