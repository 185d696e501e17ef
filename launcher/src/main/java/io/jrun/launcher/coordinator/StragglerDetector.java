package io.jrun.launcher.coordinator;

import io.jrun.comm.record.GroupRecord;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEventPublisher;
import io.jrun.launcher.event.Straggler;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * Finds the late ranks of a round from the reports of the workers' waits, about once a second. Publishes an event when
 * the late ranks change. Confined to the coordinator's thread.
 */
final class StragglerDetector {
    private static final long TURN_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Workers report their waits once a second, at different times, and a report may take another second to arrive. */
    private static final double SKEW_SECONDS = 2;

    /**
     * Ranks report a wait after its end, at different times. Only the second report after the suspicion was surely made
     * after the wait that the other ranks have reported.
     */
    private static final int LATER_REPORTS = 2;

    private final LongSupplier nanoTime;
    private final JobEventPublisher events;
    private final Map<Integer, List<GroupRecord>> waits = new TreeMap<>();
    private final Map<Integer, Integer> reports = new HashMap<>();
    private final Map<Integer, Integer> reportsWhenSuspected = new HashMap<>();
    private final Set<Integer> left = new HashSet<>();
    private List<Straggler> published = List.of();
    private long begunNanos;
    private long lookNanos;
    private boolean changed;

    StragglerDetector(LongSupplier nanoTime, JobEventPublisher events) {
        this.nanoTime = nanoTime;
        this.events = events;
    }

    /** A round begins, without waits. */
    void begin() {
        waits.clear();
        reports.clear();
        reportsWhenSuspected.clear();
        left.clear();
        changed = false;
        begunNanos = nanoTime.getAsLong();
        lookNanos = begunNanos;
        publishChange(List.of());
    }

    /** Adds a report of a rank's waits. */
    void report(int rank, List<GroupRecord> all) {
        waits.put(rank, all);
        reports.merge(rank, 1, Integer::sum);
        changed = true;
    }

    /** Adds the last report of a rank that leaves. */
    void left(int rank, List<GroupRecord> all) {
        waits.put(rank, all);
        left.add(rank);
    }

    /** Looks for stragglers if reports have arrived and the period has passed. */
    void tick() {
        long now = nanoTime.getAsLong();
        if (!changed || now - lookNanos < TURN_NANOS) {
            return;
        }
        changed = false;
        lookNanos = now;
        publishChange(of((now - begunNanos) / 1e9));
    }

    /** The stragglers of the current reports, the most expensive first. */
    List<Straggler> of(double seconds) {
        if (left.containsAll(waits.keySet())) {
            return StragglerFinder.find(waits, seconds, 0); // all reports cover the same collectives
        }
        List<Straggler> late = StragglerFinder.find(waits, seconds, SKEW_SECONDS);
        suspect(late);
        return late.stream().filter(straggler -> isConfirmed(straggler.rank())).toList();
    }

    private void suspect(List<Straggler> late) {
        Set<Integer> ranks = late.stream().map(Straggler::rank).collect(Collectors.toSet());
        reportsWhenSuspected.keySet().retainAll(ranks);
        ranks.forEach(rank -> reportsWhenSuspected.putIfAbsent(rank, reports.getOrDefault(rank, 0)));
    }

    private boolean isConfirmed(int rank) {
        Integer first = reportsWhenSuspected.get(rank);
        return first != null && reports.getOrDefault(rank, 0) >= first + LATER_REPORTS;
    }

    /** The job has ended after {@code seconds}. */
    void end(double seconds) {
        List<Straggler> late = of(seconds);
        if (!late.isEmpty() || !published.isEmpty()) {
            events.publish(new JobEvent.StragglersChanged(late, true));
        }
    }

    private void publishChange(List<Straggler> late) {
        if (!Straggler.areAlike(late, published)) {
            published = late;
            events.publish(new JobEvent.StragglersChanged(late, false));
        }
    }
}
