package io.jrun.train.metrics;

/**
 * A piece of time of one rank.
 *
 * @param name such as the label of a {@link StepPhase}
 * @param beginNanos {@link System#nanoTime}
 * @param endNanos {@link System#nanoTime}
 * @param bytes communicated; 0 where nothing is
 */
public record PhaseSpan(String name, long step, long beginNanos, long endNanos, long bytes) {
    /** How long the span is. */
    public long nanos() {
        return endNanos - beginNanos;
    }
}
