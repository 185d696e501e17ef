package io.jrun.agent.job;

import io.jrun.agent.proto.AbortHeard;
import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.Launch;
import io.jrun.agent.proto.ToAgent;
import io.jrun.agent.proto.WorkerExited;
import io.jrun.agent.proto.WorkerSpec;
import java.util.ArrayList;
import java.util.List;

/**
 * A launch whose files are not yet on this node: keeps what its round must hear, and ends it before it has begun. Confined to
 * the job's thread.
 */
final class PendingLaunch {
    /** As shells give it for a program that is not there. */
    private static final int NOT_FOUND = 127;

    private final Launch launch;
    private final ResponseStream<FromAgent> out;
    private final List<ToAgent> kept = new ArrayList<>();

    PendingLaunch(Launch launch, ResponseStream<FromAgent> out) {
        this.launch = launch;
        this.out = out;
    }

    Launch launch() {
        return launch;
    }

    /** What came for the round, in order. */
    List<ToAgent> kept() {
        return kept;
    }

    /** Takes a message for the round; an abort is heard at once. */
    void keep(ToAgent message) {
        kept.add(message);
        if (message.hasAbortRound()) {
            out.send(FromAgent.newBuilder()
                    .setAbortHeard(AbortHeard.newBuilder()
                            .setRound(message.getAbortRound().getRound()))
                    .build());
        }
    }

    /** No worker of it will run. */
    void end(String why, boolean afterStop) {
        for (WorkerSpec worker : launch.getWorkersList()) {
            out.send(FromAgent.newBuilder()
                    .setWorkerExited(WorkerExited.newBuilder()
                            .setRank(worker.getRank())
                            .setRound(launch.getRound())
                            .setExitCode(NOT_FOUND)
                            .setAfterStop(afterStop)
                            .setStartError(why))
                    .build());
        }
    }
}
