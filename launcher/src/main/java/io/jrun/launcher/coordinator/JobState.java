package io.jrun.launcher.coordinator;

/** Where a job stands. */
sealed interface JobState {
    /** Workers run. */
    record Running(Round round) implements JobState {}

    /**
     * Workers have been told to end, for {@code cause}.
     *
     * @param hurried the grace period was cut short
     */
    record Stopping(Round round, StopCause cause, boolean hurried) implements JobState {}

    /** Nothing runs and nothing will. */
    record Finished(Outcome outcome) implements JobState {}
}
