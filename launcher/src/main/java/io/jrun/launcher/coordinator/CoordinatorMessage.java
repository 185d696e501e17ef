package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.ControlResponse;
import io.jrun.launcher.job.StopSignal;
import java.util.concurrent.CompletableFuture;

/** A message of another thread to the coordinator. */
sealed interface CoordinatorMessage {
    /** A message of the agent with this id. */
    record AgentResponse(int id, ControlResponse message) implements CoordinatorMessage {}

    /**
     * An agent's control stream has ended.
     *
     * @param refused whether the agent refused the job
     */
    record ControlCallEnded(int id, String why, boolean refused) implements CoordinatorMessage {}

    /** An agent closed the connection before its first message. */
    record ConnectionDropped(int id, String why) implements CoordinatorMessage {}

    /** The difference of the clock of the agent with this id was measured. */
    record ClockMeasured(int id, ClockEstimate.Measurement measurement) implements CoordinatorMessage {}

    /** The launcher process received a signal. */
    record LauncherSignal(StopSignal signal) implements CoordinatorMessage {}

    /** A caller requests copies of timelines; {@code done} is completed when all have arrived. */
    record TimelinesRequested(CompletableFuture<Void> done) implements CoordinatorMessage {}

    /** A caller requests the locations of workers. */
    record LocationRequested(LocationQuery query) implements CoordinatorMessage {}
}
