package io.jrun.launcher.coordinator;

import java.util.List;

/** An action of the coordinator. An action without a node goes to all connected nodes. */
sealed interface CoordinatorAction {
    /** One line of the peer table. */
    record PeerAddress(int rank, int nodeRank, String host, String address, int tcpPort, long pid) {}

    /** Start a round of workers with an empty store. */
    record LaunchWorkers(int round, int restartCount, Membership membership) implements CoordinatorAction {}

    /** Send the peer table: all workers have joined. */
    record SendPeers(int round, List<PeerAddress> peers) implements CoordinatorAction {
        public SendPeers {
            peers = List.copyOf(peers);
        }
    }

    /** Report to all other workers that a rank has left the round. */
    record ReportRankLeft(int round, int rank, String how) implements CoordinatorAction {}

    /** Request that elastic workers leave the round at their next commit. */
    record RequestRegroup(int round, String why) implements CoordinatorAction {}

    /** Fail the pending collectives of all workers with this cause. */
    record FailCollectives(int round, String cause) implements CoordinatorAction {}

    /**
     * End the workers: {@code signal} now, SIGKILL after the grace period.
     *
     * @param spareElastic elastic workers park instead
     */
    record StopRound(int signal, long graceMillis, boolean spareElastic) implements CoordinatorAction {}

    /** Forward a signal to the workers and request a checkpoint from the runtime. */
    record RequestCheckpoint(int signal) implements CoordinatorAction {}

    /** Raise this input after {@code millis}. */
    record Schedule(CoordinatorInput event, long millis) implements CoordinatorAction {}

    /** End the job on this node; no further round follows. */
    record ReleaseNode(int id, String why) implements CoordinatorAction {}

    /** End the job on this node, and connect again after the cool-down. */
    record CoolDownNode(int id, String why) implements CoordinatorAction {}

    /** Print a message for the user. */
    record PrintNotice(String text) implements CoordinatorAction {}
}
