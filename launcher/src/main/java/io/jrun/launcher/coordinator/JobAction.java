package io.jrun.launcher.coordinator;

import java.util.List;

/** Something the coordinator must do; where no node is named, towards every node that still lives. */
sealed interface JobAction {
    /** One line of the peer table. */
    record Peer(int rank, int nodeRank, int localRank, String host, String address, int tcpPort, long pid) {}

    /** Start a round of workers with an empty store. */
    record Launch(int round, int restartCount) implements JobAction {}

    /** All have joined. */
    record SendPeers(int round, List<Peer> peers) implements JobAction {
        public SendPeers {
            peers = List.copyOf(peers);
        }
    }

    /** Tell all other workers that a rank takes part no more. */
    record TellRankLeft(int round, int rank, String how) implements JobAction {}

    /** Fail pending collectives with this cause. */
    record Abort(int round, String cause) implements JobAction {}

    /** End the workers: {@code signal} now, SIGKILL after the grace period. */
    record Stop(int signal, long graceMillis) implements JobAction {}

    /** Pass a signal on and ask the runtime for a checkpoint. */
    record Checkpoint(int signal) implements JobAction {}

    /** Raise {@link JobEvent.GraceIsOver} for this round after so long. */
    record WatchStop(int round, long millis) implements JobAction {}

    /** Tell the user. */
    record Say(String text) implements JobAction {}

    /** The job is over. */
    record Finish(Outcome outcome) implements JobAction {}
}
