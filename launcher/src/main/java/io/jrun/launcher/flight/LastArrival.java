package io.jrun.launcher.flight;

import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.RankRecord;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The last rank of a collective, from the waits of the other ranks. Each rank measures its wait on its own clock, from
 * its own arrival until all ranks are there. So no two clocks are compared.
 *
 * @param call the collective, as error messages name it
 * @param rank the last rank. Over TCP a rank waits for a neighbour that may itself wait for another rank; this is the
 *     rank at the end of the chain
 * @param lagNanos how much later the last rank came than the first
 * @param waited the operation of each rank that waited, by rank
 */
record LastArrival(
        String group, long sequence, String call, int rank, long lagNanos, SortedMap<Integer, OperationRecord> waited) {
    /** The limit for a neighbour's wait, as a part of the rank's wait. Below the limit the neighbour was late. */
    private static final double MOST = 0.5;

    private record Key(String group, long sequence) {}

    /** All collectives in which a rank has waited, the longest wait first. */
    static List<LastArrival> of(List<RankRecord> dumps) {
        Map<Key, SortedMap<Integer, OperationRecord>> waited = new HashMap<>();
        for (RankRecord dump : dumps) {
            for (OperationRecord operation : dump.operations()) {
                if (operation.hasWaited()) {
                    waited.computeIfAbsent(new Key(operation.group(), operation.sequence()), _ -> new TreeMap<>())
                            .put(dump.rank(), operation);
                }
            }
        }
        List<LastArrival> arrivals = new ArrayList<>();
        waited.forEach((key, byRank) -> arrivals.add(of(key, byRank)));
        arrivals.sort(Comparator.comparingLong(LastArrival::lagNanos)
                .reversed()
                .thenComparing(LastArrival::group)
                .thenComparingLong(LastArrival::sequence));
        return arrivals;
    }

    private static LastArrival of(Key key, SortedMap<Integer, OperationRecord> byRank) {
        OperationRecord first = byRank.values().stream()
                .max(Comparator.comparingLong(OperationRecord::lateNanos))
                .orElseThrow();
        OperationRecord at = first;
        Set<Integer> passed = new HashSet<>();
        while (passed.add(at.lateRank())) {
            OperationRecord neighbour = byRank.get(at.lateRank());
            if (neighbour == null || neighbour.lateNanos() < MOST * at.lateNanos()) {
                break;
            }
            at = neighbour;
        }
        OperationRecord own = byRank.get(at.lateRank());
        long lag = first.lateNanos() - (own == null ? 0 : own.lateNanos());
        return new LastArrival(key.group(), key.sequence(), first.call(), at.lateRank(), lag, byRank);
    }

    /**
     * The cost of a late rank.
     *
     * @param count number of collectives to which the rank came last
     */
    record Late(int rank, int count, long totalNanos, long medianNanos, long maxNanos) {}

    /** The ranks that came last, the rank that cost most first. */
    static List<Late> byRank(List<LastArrival> arrivals) {
        Map<Integer, List<Long>> lags = new TreeMap<>();
        arrivals.forEach(arrival ->
                lags.computeIfAbsent(arrival.rank(), _ -> new ArrayList<>()).add(arrival.lagNanos()));
        List<Late> late = new ArrayList<>();
        lags.forEach((rank, all) -> late.add(new Late(
                rank,
                all.size(),
                all.stream().mapToLong(Long::longValue).sum(),
                all.get(all.size() / 2),
                all.getFirst())));
        late.sort(Comparator.comparingLong(Late::totalNanos).reversed());
        return late;
    }
}
