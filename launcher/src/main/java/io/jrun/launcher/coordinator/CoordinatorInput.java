package io.jrun.launcher.coordinator;

import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.layout.Node;
import java.util.List;

/** An input of {@link JobMachine}. The id of a node is its index in the order of connecting. */
sealed interface CoordinatorInput {
    /** One worker's data-plane address. */
    record Endpoint(int rank, int tcpPort, long pid) {}

    /** A node's agent has opened the job. */
    record NodeOpened(int id, Node node) implements CoordinatorInput {}

    /**
     * The agent of a node was lost with its workers, or cannot be reached.
     *
     * @param where the name of the agent in messages; empty for the agent of this process
     * @param refused whether the agent refused the job
     */
    record NodeUnavailable(int id, String where, String why, boolean refused) implements CoordinatorInput {}

    /** A worker's process exists. */
    record WorkerProcessStarted(int round, int rank, long pid) implements CoordinatorInput {}

    /** All workers of a node have joined the round. */
    record NodeWorkersJoined(int id, int round, List<Endpoint> endpoints) implements CoordinatorInput {
        public NodeWorkersJoined {
            endpoints = List.copyOf(endpoints);
        }
    }

    /** A worker runs inside Elastic.run and can continue in another round. */
    record WorkerElastic(int round, int rank) implements CoordinatorInput {}

    /**
     * An elastic worker has left the round and waits for the next. {@code why} is empty if the launcher requested this.
     */
    record WorkerProcessParked(int round, int rank, long pid, String why) implements CoordinatorInput {}

    /** A worker takes part in no further collective; {@code how} completes "rank 3 ...". */
    record WorkerLeaving(int rank, int round, String how) implements CoordinatorInput {}

    /** A worker hangs, and its agent kills it; {@code why} completes "rank 3 ...". */
    record WorkerHung(int rank, int round, long pid, String why) implements CoordinatorInput {}

    /** A worker's process has ended and was reaped. */
    record WorkerProcessEnded(int round, WorkerResult end) implements CoordinatorInput {}

    /** The launcher process received a signal. */
    record SignalReceived(StopSignal signal) implements CoordinatorInput {}

    /** The time limit of the job ({@code --timeout}) has passed. */
    record JobTimeout() implements CoordinatorInput {}

    /** The time in which the agents must report the end of the workers has passed, for this stop. */
    record GracePeriodEnded(int stop) implements CoordinatorInput {}

    /** The join timeout after this round has passed. */
    record JoinTimeout(int round) implements CoordinatorInput {}

    /** The last call for further nodes has passed; enough nodes had joined when the last call began. */
    record LastCallEnded(int round) implements CoordinatorInput {}

    /** A worker has parked, and its reason has not been reported by other means in time. */
    record ParkUnexplained(int round, int rank, String why) implements CoordinatorInput {}

    /** The oldest restart has left the restart window and no longer counts. */
    record RestartExpired() implements CoordinatorInput {}

    /** The oldest failure of this node's workers has left the failure window and no longer counts. */
    record FailureExpired(int id) implements CoordinatorInput {}
}
