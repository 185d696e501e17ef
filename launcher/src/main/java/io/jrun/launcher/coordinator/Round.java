package io.jrun.launcher.coordinator;

import io.jrun.launcher.coordinator.JobEvent.Endpoint;
import io.jrun.launcher.layout.Placement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * One start of all workers. Immutable.
 *
 * @param joined endpoints by node id, of the nodes whose workers have all joined
 * @param left ranks the others know to have left
 * @param pids process ids by rank, as far as known
 * @param ends of the workers that are gone, in order
 * @param elastic ranks that can go on in another round
 * @param parked process ids by rank, of those that have left the round and wait for the next
 * @param regrouping the elastic ones have been asked to
 */
record Round(
        int number,
        Lineup lineup,
        Map<Integer, List<Endpoint>> joined,
        Set<Integer> left,
        Map<Integer, Long> pids,
        List<WorkerEnd> ends,
        Set<Integer> elastic,
        Map<Integer, Long> parked,
        boolean regrouping) {
    private static final int DIED_OF_SIGKILL = 137;

    public Round {
        joined = Map.copyOf(joined);
        left = Set.copyOf(left);
        pids = Map.copyOf(pids);
        ends = List.copyOf(ends);
        elastic = Set.copyOf(elastic);
        parked = Map.copyOf(parked);
    }

    static Round start(int number, Lineup lineup) {
        return new Round(number, lineup, Map.of(), Set.of(), Map.of(), List.of(), Set.of(), Map.of(), false);
    }

    int worldSize() {
        return lineup.worldSize();
    }

    boolean hasEnded(int rank) {
        return ends.stream().anyMatch(end -> end.rank() == rank);
    }

    /** Whether each worker has ended. */
    boolean isReaped() {
        return ends.size() == worldSize();
    }

    /** Whether each worker has ended or parked. */
    boolean isOver() {
        return ends.size() + parked.size() == worldSize();
    }

    /** Whether all that run can go on in another round. */
    boolean isElastic() {
        return elastic.size() == worldSize();
    }

    Round withJoined(int id, List<Endpoint> endpoints) {
        return new Round(number, lineup, with(joined, id, endpoints), left, pids, ends, elastic, parked, regrouping);
    }

    Round withLeft(int rank) {
        return new Round(number, lineup, joined, with(left, rank), pids, ends, elastic, parked, regrouping);
    }

    Round withPid(int rank, long pid) {
        return new Round(number, lineup, joined, left, with(pids, rank, pid), ends, elastic, parked, regrouping);
    }

    Round withElastic(int rank) {
        return new Round(number, lineup, joined, left, pids, ends, with(elastic, rank), parked, regrouping);
    }

    Round withParked(int rank, long pid) {
        return hasEnded(rank)
                ? this
                : new Round(number, lineup, joined, left, pids, ends, elastic, with(parked, rank, pid), regrouping);
    }

    Round asRegrouping() {
        return new Round(number, lineup, joined, left, pids, ends, elastic, parked, true);
    }

    /** A worker ends once; what comes later is of no interest. */
    Round withEnd(WorkerEnd end) {
        if (hasEnded(end.rank())) {
            return this;
        }
        List<WorkerEnd> more = new ArrayList<>(ends);
        more.add(end);
        Map<Integer, Long> others = new HashMap<>(parked);
        others.remove(end.rank());
        return new Round(number, lineup, joined, left, pids, more, elastic, others, regrouping);
    }

    /** The workers of a node that is gone have gone with it. */
    Round withNodeEnded(int id) {
        Round next = this;
        for (Placement place : lineup.ranks().onNode(lineup.nodeRank(id))) {
            next = next.withEnd(lost(place));
        }
        return next;
    }

    private WorkerEnd lost(Placement place) {
        return new WorkerEnd(
                place.rank(),
                place.localRank(),
                place.host(),
                pids.getOrDefault(place.rank(), 0L),
                DIED_OF_SIGKILL,
                true,
                false,
                "",
                Optional.empty(),
                List.of(),
                List.of(),
                0);
    }

    private static <V> Map<Integer, V> with(Map<Integer, V> map, int key, V value) {
        Map<Integer, V> more = new HashMap<>(map);
        more.put(key, value);
        return more;
    }

    private static Set<Integer> with(Set<Integer> set, int element) {
        Set<Integer> more = new HashSet<>(set);
        more.add(element);
        return more;
    }
}
