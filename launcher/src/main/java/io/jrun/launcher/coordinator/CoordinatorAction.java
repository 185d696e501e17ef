package io.jrun.launcher.coordinator;

import java.util.List;

/** Something the coordinator must do; where no node is named, towards every node that still lives. */
sealed interface CoordinatorAction {
    /** One line of the peer table. */
    record PeerAddress(int rank, int nodeRank, int localRank, String host, String address, int tcpPort, long pid) {}

    /** Start a round of workers with an empty store. */
    record LaunchWorkers(int round, int restartCount, Membership membership) implements CoordinatorAction {}

    /** All have joined. */
    record SendPeers(int round, List<PeerAddress> peers) implements CoordinatorAction {
        public SendPeers {
            peers = List.copyOf(peers);
        }
    }

    /** Tell all other workers that a rank takes part no more. */
    record ReportRankLeft(int round, int rank, String how) implements CoordinatorAction {}

    /** Ask elastic workers to leave the round at their next commit. */
    record RequestRegroup(int round, String why) implements CoordinatorAction {}

    /** Fail pending collectives with this cause. */
    record FailCollectives(int round, String cause) implements CoordinatorAction {}

    /**
     * End the workers: {@code signal} now, SIGKILL after the grace period.
     *
     * @param spareElastic elastic ones are to park instead
     */
    record StopRound(int signal, long graceMillis, boolean spareElastic) implements CoordinatorAction {}

    /** Pass a signal on and ask the runtime for a checkpoint. */
    record RequestCheckpoint(int signal) implements CoordinatorAction {}

    /** Raise this event after so long. */
    record Schedule(CoordinatorInput event, long millis) implements CoordinatorAction {}

    /** Have nothing more to do with this node. */
    record ReleaseNode(int id, String why) implements CoordinatorAction {}

    /** Do without this node for its cool-down, and call it again then. */
    record CoolDownNode(int id, String why) implements CoordinatorAction {}

    /** Tell the user. */
    record PrintNotice(String text) implements CoordinatorAction {}
}
