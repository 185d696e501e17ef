package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.FromAgent;
import io.jrun.launcher.job.StopSignal;

/** What other threads tell the coordinator. */
sealed interface Mail {
    /** A message of the agent with this id. */
    record FromNode(int id, FromAgent message) implements Mail {}

    /**
     * An agent's control stream has ended.
     *
     * @param refused by the agent's own decision
     */
    record NodeBroken(int id, String why, boolean refused) implements Mail {}

    /** An agent closed the connection before it had said anything. */
    record NodeDropped(int id, String why) implements Mail {}

    /** jrun got a signal. */
    record SignalMail(StopSignal signal) implements Mail {}

    /** Somebody wants to know where workers are. */
    record Asked(Inquiry inquiry) implements Mail {}
}
