package io.jrun.launcher.coordinator;

import io.jrun.comm.record.RankRecord;
import io.jrun.launcher.layout.Placement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** A request for the locations of workers, see {@link Coordinator#requestLocations}. Thread-safe. */
public final class LocationQuery {
    /** The group whose operations give the location of a rank. */
    public static final String GROUP = "world";

    private final Optional<Set<Integer>> ranks;
    private final Map<Integer, Placement> queried = new TreeMap<>();
    private final Map<Integer, RankLocation> answers = new TreeMap<>();
    private boolean begun;

    /** A request for {@code ranks}, or for all ranks if empty. */
    public LocationQuery(Optional<Set<Integer>> ranks) {
        this.ranks = ranks.map(Set::copyOf);
    }

    /**
     * The location of one rank.
     *
     * @param host the host on which the launcher has placed the rank
     */
    public record RankLocation(String host, RankRecord record) {}

    /** Receives all workers of the job; returns those of the request. */
    synchronized List<Placement> begin(List<Placement> workers) {
        workers.stream()
                .filter(worker -> ranks.isEmpty() || ranks.get().contains(worker.rank()))
                .forEach(worker -> queried.put(worker.rank(), worker));
        begun = true;
        notifyAll();
        return List.copyOf(queried.values());
    }

    synchronized void answered(RankRecord record) {
        Placement worker = queried.get(record.rank());
        if (worker != null) {
            answers.put(worker.rank(), new RankLocation(worker.host(), record));
            notifyAll();
        }
    }

    /**
     * The answers, ordered by rank. A rank without an answer within {@code timeout} has a record that contains this
     * fact.
     */
    public synchronized List<RankLocation> await(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + timeout.toNanos();
        for (long left = timeout.toNanos(); !isComplete() && left > 0; left = deadline - System.nanoTime()) {
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        List<RankLocation> all = new ArrayList<>();
        for (Placement worker : queried.values()) {
            all.add(answers.getOrDefault(
                    worker.rank(),
                    new RankLocation(
                            worker.host(),
                            RankRecord.unknown(
                                    worker.rank(),
                                    "has not answered within " + timeout.toSeconds() + " s, nor has its agent"))));
        }
        return all;
    }

    private boolean isComplete() {
        return begun && answers.size() == queried.size();
    }
}
