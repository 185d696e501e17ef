package io.jrun.launcher.job;

/**
 * jrun's own exit codes, from sysexits.h where possible. If a worker fails, jrun exits with the worker's exit code
 * instead.
 */
public final class ExitCode {
    /** The command line is unusable, or an agent refused the job. */
    public static final int USAGE = 2;

    /** An agent or its host was lost or could not be reached. */
    public static final int LOST = 69;

    /** An error inside jrun. */
    public static final int INTERNAL = 70;

    /** A worker hung, or workers lost their connections to each other. */
    public static final int STALLED = 75;

    /** The time limit of the job has passed, as in timeout(1). */
    public static final int TIMED_OUT = 124;

    private ExitCode() {}

    /** The exit code after a signal: 128 + n, as in shells. */
    public static int of(StopSignal signal) {
        return 128 + signal.number();
    }
}
