package io.jrun.launcher.coordinator;

import io.jrun.launcher.job.StopSignal;
import java.util.List;

/** Something that happened to a running job. */
sealed interface JobEvent {
    /** One worker's data-plane address. */
    record Endpoint(int rank, int tcpPort, long pid) {}

    /** A worker's process exists. */
    record WorkerStarted(int rank, long pid) implements JobEvent {}

    /** All workers of a node have joined the round. */
    record NodeJoined(int nodeRank, int round, List<Endpoint> endpoints) implements JobEvent {
        public NodeJoined {
            endpoints = List.copyOf(endpoints);
        }
    }

    /** A worker takes part in no further collective; {@code how} completes "rank 3 ...". */
    record WorkerLeaving(int rank, int round, String how) implements JobEvent {}

    /** A worker does not live or get on any more, and is being killed; {@code why} completes "rank 3 ...". */
    record WorkerHung(int rank, int round, long pid, String why) implements JobEvent {}

    /** A worker's process is gone and reaped. */
    record WorkerEnded(int round, WorkerEnd end) implements JobEvent {}

    /** A node's agent is gone, and its workers with it. */
    record NodeGone(int nodeRank, String why) implements JobEvent {}

    /** jrun got a signal. */
    record SignalCame(StopSignal signal) implements JobEvent {}

    /** {@code --timeout} is over. */
    record TimeIsUp() implements JobEvent {}

    /** The agents should have ended the workers of this round by now. */
    record GraceIsOver(int round) implements JobEvent {}
}
