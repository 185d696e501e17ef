package io.jrun.agent.job;

import io.jrun.agent.proto.AbortReceipt;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.WorkerExitedReport;
import io.jrun.agent.proto.WorkerSpec;
import java.util.ArrayList;
import java.util.List;

/**
 * A launch whose files are not yet on this node. Keeps the messages for its round, or ends the round before its start.
 * Confined to the job's thread.
 */
final class PendingLaunch {
    private final LaunchRound launch;
    private final ResponseStream<ControlResponse> out;
    private final List<ControlRequest> kept = new ArrayList<>();

    PendingLaunch(LaunchRound launch, ResponseStream<ControlResponse> out) {
        this.launch = launch;
        this.out = out;
    }

    /** The messages for the round, in order. */
    List<ControlRequest> kept() {
        return kept;
    }

    /** Keeps a message for the round. The receipt of an abort is sent at once. */
    void keep(ControlRequest message) {
        kept.add(message);
        if (message.hasAbortRound()) {
            out.send(ControlResponse.newBuilder()
                    .setAbortReceipt(AbortReceipt.newBuilder()
                            .setRound(message.getAbortRound().getRound()))
                    .build());
        }
    }

    /**
     * Reports the end of all workers: none will run.
     *
     * @param exitCode the exit code of each worker
     */
    void end(String why, int exitCode, boolean afterStop) {
        for (WorkerSpec worker : launch.getWorkersList()) {
            out.send(ControlResponse.newBuilder()
                    .setWorkerExited(WorkerExitedReport.newBuilder()
                            .setRank(worker.getRank())
                            .setRound(launch.getRound())
                            .setExitCode(exitCode)
                            .setAfterStop(afterStop)
                            .setStartError(why))
                    .build());
        }
    }
}
