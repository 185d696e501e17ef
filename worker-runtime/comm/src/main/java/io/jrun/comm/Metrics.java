package io.jrun.comm;

import java.util.Map;

/**
 * Reports numbers of the training, such as a loss, from a rank to jrun, which records them as events of the job. Thread-safe.
 *
 * <p>A report never waits: it goes into a queue of {@value #MAX_QUEUED_STEPS} steps, and a thread of the runtime sends at most ten
 * reports a second from each rank, and about a thousand a second from all ranks of a job. Where a program reports more, the
 * oldest steps of the queue are dropped, and their number is recorded. A rank that fails may lose its last reports.
 *
 * <p>A world that jrun did not start ({@code LocalWorld}, a world of MPI, a process by itself) checks each report and drops it.
 */
public interface Metrics {
    /** A report has no more names. */
    int MAX_NAMES = 64;

    /** A name has no more characters. */
    int MAX_NAME_LENGTH = 64;

    /** No more steps wait to be sent. */
    int MAX_QUEUED_STEPS = 16;

    /**
     * Reports values of a step. A second report of a step that still waits is merged into the first, and its values replace those
     * of the same names.
     *
     * @param step 0 or more
     * @param values by name: 1 to {@value #MAX_NAME_LENGTH} letters, digits and characters of {@code _-./:%@+}
     * @throws CommException USAGE if the step, a name or the number of names is out of bounds
     */
    void report(long step, Map<String, Double> values);
}
