package io.jrun.launcher.job;

/** The exit codes of jrun's own; a failed worker's is passed on. Those of sysexits.h, where it has one. */
public final class ExitCode {
    /** A command line that cannot be done, or was refused where it was to be done. */
    public static final int USAGE = 2;

    /** An agent or its host was lost or could not be reached. */
    public static final int LOST = 69;

    /** A fault of jrun's own. */
    public static final int INTERNAL = 70;

    /** A worker hung, or workers lost each other. */
    public static final int STALLED = 75;

    /** The job's time is over; as timeout(1). */
    public static final int TIMED_OUT = 124;

    private ExitCode() {}

    /** Ended by a signal, as shells have it. */
    public static int of(StopSignal signal) {
        return 128 + signal.number();
    }
}
