package io.jrun.launcher.flight;

import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.RankRanges;
import io.jrun.comm.record.RankRecord;
import io.jrun.launcher.flight.Mismatch.Kind;
import io.jrun.launcher.flight.Mismatch.RankPlace;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Matches the operations of all ranks by group and sequence. The finding of a group is the first sequence at which two
 * ranks made different calls. If all calls agree, the finding is the last operation that a rank did not finish, with
 * the ranks that have not entered it. The matcher compares only operations that the dumps still have. Confined to one
 * thread.
 */
final class OperationMatcher {
    private final Map<Integer, RankRecord> byRank = new TreeMap<>();

    private OperationMatcher(List<RankRecord> dumps) {
        dumps.forEach(dump -> byRank.put(dump.rank(), dump));
    }

    /** The findings, different calls first. */
    static List<Mismatch> of(List<RankRecord> dumps) {
        OperationMatcher matching = new OperationMatcher(dumps);
        Map<String, List<Integer>> groups = new TreeMap<>();
        for (RankRecord dump : dumps) {
            dump.groups().forEach(group -> groups.putIfAbsent(group.name(), group.ranks()));
        }
        List<Mismatch> findings = new ArrayList<>();
        groups.forEach((group, ranks) -> {
            matching.mismatch(group, ranks)
                    .or(() -> matching.waiting(group, ranks))
                    .ifPresent(findings::add);
            findings.addAll(new PointToPointMatcher(matching.byRank, group, ranks).findings());
        });
        findings.sort(Comparator.comparing(Mismatch::kind));
        return findings;
    }

    private Optional<Mismatch> mismatch(String group, List<Integer> ranks) {
        TreeMap<Long, TreeMap<String, NavigableSet<Integer>>> callers = new TreeMap<>();
        for (int rank : ranks) {
            for (OperationRecord operation : collectives(rank, group)) {
                callers.computeIfAbsent(operation.sequence(), _ -> new TreeMap<>())
                        .computeIfAbsent(operation.call(), _ -> new TreeSet<>())
                        .add(rank);
            }
        }
        return callers.entrySet().stream()
                .filter(entry -> entry.getValue().size() > 1)
                .findFirst()
                .map(entry -> mismatch(group, ranks, entry.getKey(), entry.getValue()));
    }

    private Mismatch mismatch(
            String group, List<Integer> ranks, long sequence, Map<String, NavigableSet<Integer>> callers) {
        List<Map.Entry<String, NavigableSet<Integer>>> calls = new ArrayList<>(callers.entrySet());
        calls.sort(Comparator.comparingInt(call -> call.getValue().size()));
        int most = calls.getLast().getValue().size();
        boolean clear =
                calls.size() == 1 || calls.get(calls.size() - 2).getValue().size() < most;
        NavigableSet<Integer> guilty = new TreeSet<>();
        StringBuilder text = new StringBuilder();
        for (Map.Entry<String, NavigableSet<Integer>> call : calls) {
            if (!clear || call.getValue().size() < most) {
                guilty.addAll(call.getValue());
            }
            text.append(text.isEmpty() ? "" : ", but ")
                    .append(RankRanges.withNoun(call.getValue()))
                    .append(" called ")
                    .append(call.getKey());
        }
        text.append(". All ranks must make the same calls in the same order.");
        return new Mismatch(Kind.MISMATCH, group, sequence, guilty, text.toString(), places(group, ranks, sequence));
    }

    private Optional<Mismatch> waiting(String group, List<Integer> ranks) {
        return ranks.stream()
                .flatMap(rank -> collectives(rank, group).stream())
                .filter(OperationRecord::isUnfinished)
                .max(Comparator.comparingLong(OperationRecord::sequence))
                .map(last -> waiting(group, ranks, last));
    }

    private Mismatch waiting(String group, List<Integer> ranks, OperationRecord last) {
        long sequence = last.sequence();
        NavigableSet<Integer> inside = new TreeSet<>();
        NavigableSet<Integer> late = new TreeSet<>();
        for (int rank : ranks) {
            RankRecord dump = record(byRank, rank);
            if (dump.started(group) <= sequence) {
                late.add(rank);
            } else if (dump.collective(group, sequence)
                    .filter(OperationRecord::isUnfinished)
                    .isPresent()) {
                inside.add(rank);
            }
        }
        List<RankPlace> places = places(group, ranks, sequence);
        String waits = RankRanges.withNoun(inside) + " waited in " + last.call();
        if (late.isEmpty()) {
            String text = waits
                    + ". Every rank had entered the collective: one rank was slow or stopped there, or a connection"
                    + " was lost.";
            return new Mismatch(Kind.STUCK, group, sequence, late, text, places);
        }
        StringBuilder text = new StringBuilder(waits).append(" for ").append(RankRanges.withNoun(late));
        places.stream()
                .filter(place -> late.contains(place.rank()))
                .forEach(place ->
                        text.append("; rank ").append(place.rank()).append(' ').append(place.words()));
        return new Mismatch(Kind.LATE, group, sequence, late, text.append('.').toString(), places);
    }

    private List<RankPlace> places(String group, List<Integer> ranks, long sequence) {
        return ranks.stream().map(rank -> place(rank, group, sequence)).toList();
    }

    private RankPlace place(int rank, String group, long sequence) {
        RankRecord dump = record(byRank, rank);
        long at = Math.min(sequence, dump.started(group) - 1);
        return new RankPlace(rank, dump.host(), dump.collective(group, at), dump.place(group));
    }

    /** The dump of a rank, or a record with the reason of the missing dump. */
    static RankRecord record(Map<Integer, RankRecord> byRank, int rank) {
        RankRecord dump = byRank.get(rank);
        return dump == null
                ? RankRecord.unknown(rank, "has left no dump (it was killed, had ended before, or is on another node)")
                : dump;
    }

    private List<OperationRecord> collectives(int rank, String group) {
        return record(byRank, rank).operations().stream()
                .filter(operation -> !operation.isMessage() && operation.group().equals(group))
                .toList();
    }
}
