package io.jrun.launcher.coordinator;

import io.jrun.launcher.coordinator.JobEvent.Endpoint;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * One start of all workers. Immutable.
 *
 * @param joined endpoints by node, of the nodes whose workers have all joined
 * @param left ranks the others know to have left
 * @param pids process ids by rank, as far as known
 * @param ends of the workers that are gone, in order
 */
record Round(
        int number,
        int restartCount,
        Map<Integer, List<Endpoint>> joined,
        Set<Integer> left,
        Map<Integer, Long> pids,
        List<WorkerEnd> ends) {
    public Round {
        joined = Map.copyOf(joined);
        left = Set.copyOf(left);
        pids = Map.copyOf(pids);
        ends = List.copyOf(ends);
    }

    static Round first() {
        return new Round(1, 0, Map.of(), Set.of(), Map.of(), List.of());
    }

    Round again() {
        return new Round(number + 1, restartCount + 1, Map.of(), Set.of(), Map.of(), List.of());
    }

    boolean hasEnded(int rank) {
        return ends.stream().anyMatch(end -> end.rank() == rank);
    }

    Round withJoined(int nodeRank, List<Endpoint> endpoints) {
        Map<Integer, List<Endpoint>> more = new HashMap<>(joined);
        more.put(nodeRank, endpoints);
        return new Round(number, restartCount, more, left, pids, ends);
    }

    Round withLeft(int rank) {
        Set<Integer> more = new HashSet<>(left);
        more.add(rank);
        return new Round(number, restartCount, joined, more, pids, ends);
    }

    Round withPid(int rank, long pid) {
        Map<Integer, Long> more = new HashMap<>(pids);
        more.put(rank, pid);
        return new Round(number, restartCount, joined, left, more, ends);
    }

    Round withEnd(WorkerEnd end) {
        List<WorkerEnd> more = new ArrayList<>(ends);
        more.add(end);
        return new Round(number, restartCount, joined, left, pids, more);
    }
}
