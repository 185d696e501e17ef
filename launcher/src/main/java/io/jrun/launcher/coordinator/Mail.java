package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.FromAgent;
import io.jrun.launcher.job.StopSignal;

/** What other threads tell the coordinator. */
sealed interface Mail {
    /** An agent's message. */
    record FromNode(int nodeRank, FromAgent message) implements Mail {}

    /**
     * An agent's control stream has ended.
     *
     * @param refused by the agent's own decision
     */
    record NodeBroken(int nodeRank, String why, boolean refused) implements Mail {}

    /** jrun got a signal. */
    record SignalMail(StopSignal signal) implements Mail {}

    /** Somebody wants to know where workers are. */
    record Asked(Inquiry inquiry) implements Mail {}
}
