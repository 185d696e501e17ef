package io.jrun.agent.job;

import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.GroupWait;
import io.jrun.agent.proto.Lag;
import io.jrun.agent.proto.Launch;
import io.jrun.agent.proto.WorkerWaits;
import java.util.List;

/** How long a worker has waited for others, as a message to the coordinator. */
final class WaitReports {
    private WaitReports() {}

    /** What a worker of that round has waited until now. */
    static FromAgent message(Launch launch, int rank, List<io.jrun.comm.control.GroupWait> waits) {
        return FromAgent.newBuilder()
                .setWorkerWaits(WorkerWaits.newBuilder()
                        .setRank(rank)
                        .setRound(launch.getRound())
                        .addAllWaits(waits.stream().map(WaitReports::message).toList()))
                .build();
    }

    static GroupWait message(io.jrun.comm.control.GroupWait wait) {
        GroupWait.Builder message = GroupWait.newBuilder()
                .setGroup(wait.group())
                .setCollectives(wait.collectives())
                .setWaitedNanos(wait.waitedNanos());
        for (io.jrun.comm.control.GroupWait.Lag lag : wait.lags()) {
            message.addLags(Lag.newBuilder()
                    .setRank(lag.rank())
                    .setCount(lag.count())
                    .setMedianNanos(lag.medianNanos())
                    .setP95Nanos(lag.p95Nanos())
                    .setMaxNanos(lag.maxNanos()));
        }
        return message.build();
    }
}
