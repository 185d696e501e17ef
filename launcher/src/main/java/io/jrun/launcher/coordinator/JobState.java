package io.jrun.launcher.coordinator;

import java.util.Optional;

/** The state of a job. */
sealed interface JobState {
    /** The part of the state that all rounds share. */
    JobProgress jobProgress();

    /** The same state with another progress. */
    JobState with(JobProgress other);

    /**
     * The failure or request that stopped the last round; empty while workers run, or if nothing has stopped a round.
     */
    default Optional<StopCause> cause() {
        return Optional.empty();
    }

    /**
     * The job waits for nodes.
     *
     * @param before the last round, with its parked workers; empty before the first round
     * @param cause why the last round has ended
     * @param lastCall whether enough nodes have joined and the last call for further nodes runs
     */
    record AwaitingNodes(JobProgress jobProgress, Optional<Round> before, Optional<StopCause> cause, boolean lastCall)
            implements JobState {
        @Override
        public AwaitingNodes with(JobProgress other) {
            return new AwaitingNodes(other, before, cause, lastCall);
        }

        /** The number of the last round; 0 before the first. */
        int round() {
            return before.map(Round::number).orElse(0);
        }
    }

    /** Workers run. */
    record RoundRunning(JobProgress jobProgress, Round round) implements JobState {
        @Override
        public RoundRunning with(JobProgress other) {
            return new RoundRunning(other, round);
        }

        RoundRunning with(Round other) {
            return new RoundRunning(jobProgress, other);
        }
    }

    /**
     * The workers got a request to end or to park.
     *
     * @param cause why the round stops; empty if only the nodes change
     * @param again whether another round follows
     * @param byUser whether the user has requested the stop
     */
    record Stopping(JobProgress jobProgress, Round round, Optional<StopCause> cause, boolean again, boolean byUser)
            implements JobState {
        @Override
        public Stopping with(JobProgress other) {
            return new Stopping(other, round, cause, again, byUser);
        }

        Stopping with(Round other) {
            return new Stopping(jobProgress, other, cause, again, byUser);
        }

        /** The same state with another cause. */
        Stopping because(StopCause why) {
            return new Stopping(jobProgress, round, Optional.of(why), again, byUser);
        }

        Stopping forGood() {
            return new Stopping(jobProgress, round, cause, false, byUser);
        }

        Stopping withUserRequest() {
            return new Stopping(jobProgress, round, cause, again, true);
        }
    }

    /** The job has ended. */
    record Finished(JobProgress jobProgress, JobOutcome outcome) implements JobState {
        @Override
        public Finished with(JobProgress other) {
            return new Finished(other, outcome);
        }

        @Override
        public Optional<StopCause> cause() {
            return outcome.cause();
        }
    }
}
