package io.jrun.launcher.coordinator;

import java.util.Optional;

/** Where a job stands. */
sealed interface JobState {
    /** What holds from round to round. */
    Ledger ledger();

    /** The same state with another ledger. */
    JobState with(Ledger other);

    /**
     * Nodes are waited for.
     *
     * @param before the round that has ended, with the workers that are parked; empty before the first
     * @param cause why it has ended
     * @param lastCall there are enough, and it will not be waited much longer for the rest
     */
    record Gathering(Ledger ledger, Optional<Round> before, Optional<StopCause> cause, boolean lastCall)
            implements JobState {
        @Override
        public Gathering with(Ledger other) {
            return new Gathering(other, before, cause, lastCall);
        }

        /** Of the last round; 0 before the first. */
        int round() {
            return before.map(Round::number).orElse(0);
        }
    }

    /** Workers run. */
    record Running(Ledger ledger, Round round) implements JobState {
        @Override
        public Running with(Ledger other) {
            return new Running(other, round);
        }

        Running with(Round other) {
            return new Running(ledger, other);
        }
    }

    /**
     * Workers have been told to end or to park.
     *
     * @param cause empty if only the nodes change
     * @param again another round is to follow
     * @param asked the user has asked for the stop
     */
    record Stopping(Ledger ledger, Round round, Optional<StopCause> cause, boolean again, boolean asked)
            implements JobState {
        @Override
        public Stopping with(Ledger other) {
            return new Stopping(other, round, cause, again, asked);
        }

        Stopping with(Round other) {
            return new Stopping(ledger, other, cause, again, asked);
        }

        /** It was for another reason that the round had to end. */
        Stopping because(StopCause why) {
            return new Stopping(ledger, round, Optional.of(why), again, asked);
        }

        Stopping forGood() {
            return new Stopping(ledger, round, cause, false, asked);
        }

        Stopping asAsked() {
            return new Stopping(ledger, round, cause, again, true);
        }
    }

    /** Nothing runs and nothing will. */
    record Finished(Ledger ledger, Outcome outcome) implements JobState {
        @Override
        public Finished with(Ledger other) {
            return new Finished(other, outcome);
        }
    }
}
