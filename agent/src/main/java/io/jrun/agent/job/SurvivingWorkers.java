package io.jrun.agent.job;

import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.WorkerElasticReport;
import io.jrun.agent.proto.WorkerParkedReport;
import java.util.HashSet;
import java.util.Set;

/**
 * The elastic workers of a round, and those of them that are parked: that have left the round and wait for the next.
 * Reports both to the coordinator. Confined to the job's thread.
 */
final class SurvivingWorkers {
    private final int round;
    private final ResponseStream<ControlResponse> out;
    private final Set<Integer> elastic = new HashSet<>();
    private final Set<Integer> parked = new HashSet<>();

    SurvivingWorkers(int round, ResponseStream<ControlResponse> out) {
        this.round = round;
        this.out = out;
    }

    void becameElastic(int rank) {
        if (elastic.add(rank)) {
            out.send(ControlResponse.newBuilder()
                    .setWorkerElastic(
                            WorkerElasticReport.newBuilder().setRank(rank).setRound(round))
                    .build());
        }
    }

    /** @param why empty if the worker left at a commit */
    void parked(int rank, long pid, String why) {
        if (parked.add(rank)) {
            out.send(ControlResponse.newBuilder()
                    .setWorkerParked(WorkerParkedReport.newBuilder()
                            .setRank(rank)
                            .setRound(round)
                            .setPid(pid)
                            .setWhy(why))
                    .build());
        }
    }

    boolean isElastic(int rank) {
        return elastic.contains(rank);
    }

    boolean isParked(int rank) {
        return parked.contains(rank);
    }
}
