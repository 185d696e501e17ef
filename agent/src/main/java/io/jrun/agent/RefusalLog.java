package io.jrun.agent;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Says that somebody was refused, in one line for each way: who knocks ten thousand times must not fill the log. A peer
 * that TLS or the framing has refused shows up nowhere but in gRPC's own log, which this listens to until it is closed.
 * Thread-safe.
 */
final class RefusalLog implements AutoCloseable {
    /** The class that speaks TLS; its own lines would be one per knock, of a page each. */
    private static final Logger NEGOTIATIONS =
            Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty.ProtocolNegotiators");

    /** The class that takes messages off a connection. */
    private static final Logger STREAMS = Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty.NettyServerStream");

    /** The class that runs what takes messages apart. */
    private static final Logger CALLS = Logger.getLogger("io.grpc.internal.SerializingExecutor");

    private static final Logger ROOT = Logger.getLogger("");

    /** A TLS handshake has failed. */
    static final String NO_PROOF =
            "a caller without this agent's secret (its TLS handshake failed), or one too slow to prove it (10 s)";

    private static final String TLS_FAILED = "TLS negotiation failed";
    private static final String NO_MESSAGE = "Invalid protobuf byte sequence";
    private static final String BAD_MESSAGE = "a message: it is too large, or none of this protocol";

    /** A way that was told of is told of again after so long, with the number of times. */
    private static final long SILENCE_NANOS = TimeUnit.HOURS.toNanos(1);

    private final Consumer<String> log;
    private final Map<String, Kind> kinds = new HashMap<>();
    private final List<RefusalHandler> handlers = List.of(
            new RefusalHandler(
                    NEGOTIATIONS, entry -> String.valueOf(entry.getMessage()).startsWith(TLS_FAILED), NO_PROOF),
            new RefusalHandler(STREAMS, entry -> entry.getLevel().equals(Level.WARNING), BAD_MESSAGE),
            new RefusalHandler(CALLS, entry -> String.valueOf(entry.getThrown()).contains(NO_MESSAGE), BAD_MESSAGE));

    private RefusalLog(Consumer<String> log) {
        this.log = log;
    }

    /** A log that writes to {@code log}. */
    static RefusalLog open(Consumer<String> log) {
        RefusalLog opened = new RefusalLog(log);
        NEGOTIATIONS.setLevel(Level.FINE);
        STREAMS.setLevel(Level.WARNING);
        opened.handlers.forEach(RefusalHandler::listen);
        return opened;
    }

    /** @param what completes "refused ..." */
    void refused(String what) {
        String line = count(what, System.nanoTime());
        if (line != null) {
            log.accept(line);
        }
    }

    private synchronized @Nullable String count(String what, long now) {
        Kind kind = kinds.computeIfAbsent(what, _ -> new Kind());
        kind.untold++;
        if (kind.told && now - kind.toldNanos < SILENCE_NANOS) {
            return null;
        }
        String times = kind.told ? kind.untold + " times in the meantime" : "further ones are refused silently";
        kind.told = true;
        kind.toldNanos = now;
        kind.untold = 0;
        return "refused " + what + "; " + times;
    }

    @Override
    public void close() {
        handlers.forEach(RefusalHandler::stop);
    }

    /** One way to be refused. */
    private static final class Kind {
        private boolean told;
        private long toldNanos;
        private long untold;
    }

    private final class RefusalHandler extends Handler {
        private final Logger logger;
        private final Predicate<LogRecord> means;
        private final String what;

        /** @param means which entries mean {@code what} */
        RefusalHandler(Logger logger, Predicate<LogRecord> means, String what) {
            this.logger = logger;
            this.means = means;
            this.what = what;
        }

        void listen() {
            logger.setUseParentHandlers(false);
            logger.addHandler(this);
        }

        void stop() {
            logger.removeHandler(this);
        }

        @Override
        public void publish(LogRecord entry) {
            if (means.test(entry)) {
                refused(what);
            } else if (entry.getLevel().intValue() > Level.INFO.intValue()) {
                Arrays.stream(ROOT.getHandlers()).forEach(handler -> handler.publish(entry));
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }
}
