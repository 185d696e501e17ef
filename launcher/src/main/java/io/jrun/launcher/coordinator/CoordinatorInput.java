package io.jrun.launcher.coordinator;

import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.layout.Node;
import java.util.List;

/** Something that happened to a running job. Nodes go by their id: the order in which they were called. */
sealed interface CoordinatorInput {
    /** One worker's data-plane address. */
    record Endpoint(int rank, int tcpPort, long pid) {}

    /** A node's agent has opened the job. */
    record NodeOpened(int id, Node node) implements CoordinatorInput {}

    /**
     * A node's agent is gone, or was never there, and its workers with it.
     *
     * @param where how messages name it; empty for the agent of this process
     * @param refused by the agent's own decision
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

    /** A worker can go on in another round. */
    record WorkerElastic(int round, int rank) implements CoordinatorInput {}

    /** It has left the round and waits for another; {@code why} is empty if it was asked to. */
    record WorkerProcessParked(int round, int rank, long pid, String why) implements CoordinatorInput {}

    /** A worker takes part in no further collective; {@code how} completes "rank 3 ...". */
    record WorkerLeaving(int rank, int round, String how) implements CoordinatorInput {}

    /** A worker does not live or get on any more, and is being killed; {@code why} completes "rank 3 ...". */
    record WorkerHung(int rank, int round, long pid, String why) implements CoordinatorInput {}

    /** A worker's process is gone and reaped. */
    record WorkerProcessEnded(int round, WorkerResult end) implements CoordinatorInput {}

    /** jrun got a signal. */
    record SignalReceived(StopSignal signal) implements CoordinatorInput {}

    /** {@code --timeout} is over. */
    record JobTimeout() implements CoordinatorInput {}

    /** The agents should have ended the workers by now that they were told to with this stop. */
    record GracePeriodEnded(int stop) implements CoordinatorInput {}

    /** Nodes have had time enough to come, after this round. */
    record JoinTimeout(int round) implements CoordinatorInput {}

    /** There have been enough of them for a while. */
    record LastCallEnded(int round) implements CoordinatorInput {}

    /** Whatever made this worker park should be known by now. */
    record ParkUnexplained(int round, int rank, String why) implements CoordinatorInput {}

    /** A restart was so long ago that it does not count any more. */
    record RestartExpired() implements CoordinatorInput {}

    /** A failure of this node's workers was so long ago that it does not count any more. */
    record FailureExpired(int id) implements CoordinatorInput {}
}
