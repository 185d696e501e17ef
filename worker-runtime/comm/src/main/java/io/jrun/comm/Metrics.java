package io.jrun.comm;

import java.util.Map;

/**
 * Reports numbers of the training, such as a loss, from a rank to jrun. jrun records the numbers as events of the job.
 * Thread-safe.
 *
 * <p>A report never waits. The report enters a queue of {@value #MAX_QUEUED_STEPS} steps. A thread of the runtime sends
 * at most ten reports a second from each rank, and about a thousand a second from all ranks of a job. If a program
 * reports faster, the queue drops its oldest steps, and jrun records the number of dropped steps. A rank that fails may
 * lose its last reports.
 *
 * <p>A world that jrun did not start ({@code LocalWorld}, an MPI world, a single process) checks each report and drops
 * the report.
 */
public interface Metrics {
    /** The largest number of names in one report. */
    int MAX_NAMES = 64;

    /** The largest number of characters in one name. */
    int MAX_NAME_LENGTH = 64;

    /** The largest number of steps in the queue. */
    int MAX_QUEUED_STEPS = 16;

    /**
     * Reports values of a step. A second report of a queued step is merged into the first report and replaces the
     * values of equal names.
     *
     * @param step 0 or more
     * @param values by name: 1 to {@value #MAX_NAME_LENGTH} letters, digits and characters of {@code _-./:%@+}
     * @throws CommException USAGE if the step, a name or the number of names is out of bounds
     */
    void report(long step, Map<String, Double> values);

    /**
     * Adds a time span of this rank to its timeline, which {@code jrun trace} and the heat map of {@code jrun
     * dashboard} show. Costs less than a microsecond. A world without a log folder drops the span.
     *
     * @param name the name, such as {@code forward}; the spans of {@code step} are the whole steps. A rank has at most
     *     some hundred names
     * @param step 0 or more
     * @param beginNanos the begin as a value of {@link System#nanoTime}
     * @param endNanos the end as a value of {@link System#nanoTime}
     * @param bytes communicated or read bytes; 0 if there are none
     */
    void span(String name, long step, long beginNanos, long endNanos, long bytes);
}
