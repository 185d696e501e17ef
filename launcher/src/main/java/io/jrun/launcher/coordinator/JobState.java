package io.jrun.launcher.coordinator;

import java.util.Optional;

/** Where a job stands. */
sealed interface JobState {
    /** What holds from round to round. */
    JobProgress jobProgress();

    /** The same state with another ledger. */
    JobState with(JobProgress other);

    /**
     * Nodes are waited for.
     *
     * @param before the round that has ended, with the workers that are parked; empty before the first
     * @param cause why it has ended
     * @param lastCall there are enough, and it will not be waited much longer for the rest
     */
    record AwaitingNodes(JobProgress jobProgress, Optional<Round> before, Optional<StopCause> cause, boolean lastCall)
            implements JobState {
        @Override
        public AwaitingNodes with(JobProgress other) {
            return new AwaitingNodes(other, before, cause, lastCall);
        }

        /** Of the last round; 0 before the first. */
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
     * Workers have been told to end or to park.
     *
     * @param cause empty if only the nodes change
     * @param again another round is to follow
     * @param asked the user has asked for the stop
     */
    record Stopping(JobProgress jobProgress, Round round, Optional<StopCause> cause, boolean again, boolean asked)
            implements JobState {
        @Override
        public Stopping with(JobProgress other) {
            return new Stopping(other, round, cause, again, asked);
        }

        Stopping with(Round other) {
            return new Stopping(jobProgress, other, cause, again, asked);
        }

        /** It was for another reason that the round had to end. */
        Stopping because(StopCause why) {
            return new Stopping(jobProgress, round, Optional.of(why), again, asked);
        }

        Stopping forGood() {
            return new Stopping(jobProgress, round, cause, false, asked);
        }

        Stopping asAsked() {
            return new Stopping(jobProgress, round, cause, again, true);
        }
    }

    /** Nothing runs and nothing will. */
    record Finished(JobProgress jobProgress, JobOutcome outcome) implements JobState {
        @Override
        public Finished with(JobProgress other) {
            return new Finished(other, outcome);
        }
    }
}
