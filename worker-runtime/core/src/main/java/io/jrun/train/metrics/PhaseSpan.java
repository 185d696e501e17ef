package io.jrun.train.metrics;

/**
 * A time span of one rank.
 *
 * @param name the name, such as the label of a {@link StepPhase}
 * @param beginNanos the begin as a value of {@link System#nanoTime}
 * @param endNanos the end as a value of {@link System#nanoTime}
 * @param bytes communicated bytes; 0 without communication
 */
public record PhaseSpan(String name, long step, long beginNanos, long endNanos, long bytes) {
    /** The length of the span. */
    public long nanos() {
        return endNanos - beginNanos;
    }
}
