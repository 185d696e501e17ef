package io.jrun.launcher.flight;

import io.jrun.launcher.flight.Mismatch.Kind;
import io.jrun.launcher.flight.Mismatch.Place;
import io.jrun.launcher.report.FailureReport;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Matches the operations of all ranks by group and sequence. In each group the first place where two ranks made different
 * calls is the finding; otherwise the last operation that somebody did not get out of, with those who are not in it. Only
 * what all ranks still keep can be compared. Confined to one thread.
 */
final class OperationMatcher {
    private final Map<Integer, Dump> byRank = new TreeMap<>();

    private OperationMatcher(List<Dump> dumps) {
        dumps.forEach(dump -> byRank.put(dump.rank(), dump));
    }

    /** What is found, differing calls first. */
    static List<Mismatch> of(List<Dump> dumps) {
        OperationMatcher matching = new OperationMatcher(dumps);
        Map<String, List<Integer>> groups = new TreeMap<>();
        for (Dump dump : dumps) {
            dump.groups().values().forEach(group -> groups.putIfAbsent(group.name(), group.ranks()));
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
            for (DumpedOperation operation : collectives(rank, group)) {
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
                    .append(FailureReport.ranks(call.getValue()))
                    .append(" called ")
                    .append(call.getKey());
        }
        text.append(". All ranks must make the same calls in the same order.");
        return new Mismatch(Kind.MISMATCH, group, sequence, guilty, text.toString(), places(group, ranks, sequence));
    }

    private Optional<Mismatch> waiting(String group, List<Integer> ranks) {
        return ranks.stream()
                .flatMap(rank -> collectives(rank, group).stream())
                .filter(DumpedOperation::isUnfinished)
                .max(Comparator.comparingLong(DumpedOperation::sequence))
                .map(last -> waiting(group, ranks, last));
    }

    private Mismatch waiting(String group, List<Integer> ranks, DumpedOperation last) {
        long sequence = last.sequence();
        NavigableSet<Integer> inside = new TreeSet<>();
        NavigableSet<Integer> late = new TreeSet<>();
        for (int rank : ranks) {
            Dump dump = byRank.get(rank);
            if (dump == null || dump.started(group) <= sequence) {
                late.add(rank);
            } else if (dump.collective(group, sequence)
                    .filter(DumpedOperation::isUnfinished)
                    .isPresent()) {
                inside.add(rank);
            }
        }
        List<Place> places = places(group, ranks, sequence);
        String waits = FailureReport.ranks(inside) + " waited in " + last.call();
        if (late.isEmpty()) {
            String text = waits
                    + ", which every rank had entered: one was slow or stopped inside it, or a connection was lost.";
            return new Mismatch(Kind.STUCK, group, sequence, late, text, places);
        }
        StringBuilder text = new StringBuilder(waits).append(" for ").append(FailureReport.ranks(late));
        places.stream()
                .filter(place -> late.contains(place.rank()))
                .forEach(place ->
                        text.append("; rank ").append(place.rank()).append(' ').append(place.words()));
        return new Mismatch(Kind.LATE, group, sequence, late, text.append('.').toString(), places);
    }

    private List<Place> places(String group, List<Integer> ranks, long sequence) {
        return ranks.stream().map(rank -> place(rank, group, sequence)).toList();
    }

    private Place place(int rank, String group, long sequence) {
        Dump dump = byRank.get(rank);
        if (dump == null) {
            return new Place(
                    rank,
                    "",
                    Optional.empty(),
                    "left no dump (it was killed, had ended before, or is on another node)");
        }
        long at = Math.min(sequence, dump.started(group) - 1);
        Optional<DumpedOperation> operation = dump.collective(group, at);
        return new Place(rank, dump.host(), operation, words(at, operation) + elsewhere(dump, group));
    }

    private static String words(long at, Optional<DumpedOperation> operation) {
        if (at < 0) {
            return "has not entered any operation of this group";
        }
        String call = operation.map(DumpedOperation::call).orElse("operation #" + at);
        boolean inside = operation.filter(DumpedOperation::isUnfinished).isPresent();
        return inside ? "was in " + call : "has completed " + call + " and entered nothing since";
    }

    /** Where a rank is that is not in this group. */
    private static String elsewhere(Dump dump, String group) {
        return dump.unfinished().stream()
                .filter(operation -> !operation.group().equals(group) || operation.isMessage())
                .findFirst()
                .map(operation -> ", but was in " + operation.call() + " of group " + operation.group())
                .orElse("");
    }

    private List<DumpedOperation> collectives(int rank, String group) {
        Dump dump = byRank.get(rank);
        return dump == null
                ? List.of()
                : dump.operations().stream()
                        .filter(operation ->
                                !operation.isMessage() && operation.group().equals(group))
                        .toList();
    }
}
