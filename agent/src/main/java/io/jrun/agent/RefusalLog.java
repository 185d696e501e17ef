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
 * Logs refused callers, one line for each kind of refusal, because ten thousand attempts must not fill the log. Only
 * gRPC's own log has the peers that TLS or the framing has refused, so this object reads gRPC's log until it is closed.
 * Thread-safe.
 */
final class RefusalLog implements AutoCloseable {
    /** The class that handles TLS. It logs a page for each attempt. */
    private static final Logger NEGOTIATIONS =
            Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty.ProtocolNegotiators");

    /** The class that reads messages from a connection. */
    private static final Logger STREAMS = Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty.NettyServerStream");

    /** The class that runs the parsing of messages. */
    private static final Logger CALLS = Logger.getLogger("io.grpc.internal.SerializingExecutor");

    private static final Logger ROOT = Logger.getLogger("");

    /** A TLS handshake has failed. */
    static final String NO_PROOF =
            "a caller without this agent's secret (its TLS handshake failed), or one too slow to prove it (10 s)";

    private static final String TLS_FAILED = "TLS negotiation failed";
    private static final String NO_MESSAGE = "Invalid protobuf byte sequence";
    private static final String BAD_MESSAGE = "a message that is too large, or does not belong to this protocol";

    /** The same kind is logged again after this time, with the number of refusals. */
    private static final long LOG_INTERVAL_NANOS = TimeUnit.HOURS.toNanos(1);

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
        kind.unlogged++;
        if (kind.logged && now - kind.loggedNanos < LOG_INTERVAL_NANOS) {
            return null;
        }
        String times = kind.logged ? kind.unlogged + " times in the meantime" : "further ones are refused silently";
        kind.logged = true;
        kind.loggedNanos = now;
        kind.unlogged = 0;
        return "refused " + what + "; " + times;
    }

    @Override
    public void close() {
        handlers.forEach(RefusalHandler::stop);
    }

    /** One kind of refusal. */
    private static final class Kind {
        private boolean logged;
        private long loggedNanos;
        private long unlogged;
    }

    private final class RefusalHandler extends Handler {
        private final Logger logger;
        private final Predicate<LogRecord> means;
        private final String what;

        /** @param means accepts the entries of gRPC's log that mean {@code what} */
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
