package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.ControlResponse;
import io.jrun.launcher.job.StopSignal;

/** What other threads tell the coordinator. */
sealed interface CoordinatorMessage {
    /** A message of the agent with this id. */
    record AgentResponse(int id, ControlResponse message) implements CoordinatorMessage {}

    /**
     * An agent's control stream has ended.
     *
     * @param refused by the agent's own decision
     */
    record ControlCallEnded(int id, String why, boolean refused) implements CoordinatorMessage {}

    /** An agent closed the connection before it had said anything. */
    record ConnectionDropped(int id, String why) implements CoordinatorMessage {}

    /** jrun got a signal. */
    record LauncherSignal(StopSignal signal) implements CoordinatorMessage {}

    /** Somebody wants to know where workers are. */
    record LocationRequested(LocationQuery query) implements CoordinatorMessage {}
}
