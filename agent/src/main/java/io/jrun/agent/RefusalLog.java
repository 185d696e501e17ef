package io.jrun.agent;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/**
 * Says once that somebody was refused: who knocks ten thousand times must not fill the log. A peer that TLS has refused shows
 * up nowhere but in gRPC's own log, which this listens to until it is closed. Thread-safe.
 */
final class RefusalLog implements AutoCloseable {
    /** The class that speaks TLS; its own lines would be one per knock, of a page each. */
    private static final Logger NEGOTIATIONS =
            Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty.ProtocolNegotiators");

    private static final String TLS_FAILED = "TLS negotiation failed";

    private final Consumer<String> log;
    private final AtomicBoolean said = new AtomicBoolean();
    private final Handler listener = new Negotiations();

    private RefusalLog(Consumer<String> log) {
        this.log = log;
    }

    /** A log that writes to {@code log}. */
    static RefusalLog open(Consumer<String> log) {
        RefusalLog opened = new RefusalLog(log);
        NEGOTIATIONS.setUseParentHandlers(false);
        NEGOTIATIONS.setLevel(Level.FINE);
        NEGOTIATIONS.addHandler(opened.listener);
        return opened;
    }

    /** @param what what the caller did */
    void refused(String what) {
        if (said.compareAndSet(false, true)) {
            log.accept(
                    "refused a caller without this agent's secret (" + what + "); further ones are refused silently");
        }
    }

    @Override
    public void close() {
        NEGOTIATIONS.removeHandler(listener);
    }

    private final class Negotiations extends Handler {
        @Override
        public void publish(LogRecord entry) {
            if (String.valueOf(entry.getMessage()).startsWith(TLS_FAILED)) {
                refused("its TLS handshake failed");
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }
}
