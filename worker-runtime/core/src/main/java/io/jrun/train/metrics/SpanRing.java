package io.jrun.train.metrics;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The latest spans of a rank, up to a fixed number; a further span replaces the oldest. Thread-safe. */
public final class SpanRing {
    private final @Nullable PhaseSpan[] spans;
    private long added;

    /** A ring of {@code capacity} spans, 1 or more. */
    public SpanRing(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("capacity must be at least 1, not " + capacity);
        }
        spans = new PhaseSpan[capacity];
    }

    /** Adds a span. */
    public synchronized void add(PhaseSpan span) {
        spans[(int) (added % spans.length)] = span;
        added++;
    }

    /** The kept spans, the oldest first. */
    public synchronized List<PhaseSpan> spans() {
        List<PhaseSpan> kept = new ArrayList<>();
        for (long i = Math.max(0, added - spans.length); i < added; i++) {
            PhaseSpan span = spans[(int) (i % spans.length)];
            if (span != null) {
                kept.add(span);
            }
        }
        return kept;
    }
}
