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
    /** The group whose operations say where a rank is. */
    public static final String GROUP = "world";

    private final Optional<Set<Integer>> ranks;
    private final Map<Integer, Placement> asked = new TreeMap<>();
    private final Map<Integer, RankLocation> answers = new TreeMap<>();
    private boolean begun;

    /** A question about {@code ranks}, or about all. */
    public LocationQuery(Optional<Set<Integer>> ranks) {
        this.ranks = ranks.map(Set::copyOf);
    }

    /**
     * Where one rank is.
     *
     * @param host the host on which the launcher has placed the rank
     */
    public record RankLocation(String host, RankRecord record) {}

    /** Takes all workers of the job; returns the workers to ask. */
    synchronized List<Placement> begin(List<Placement> workers) {
        workers.stream()
                .filter(worker -> ranks.isEmpty() || ranks.get().contains(worker.rank()))
                .forEach(worker -> asked.put(worker.rank(), worker));
        begun = true;
        notifyAll();
        return List.copyOf(asked.values());
    }

    synchronized void answered(RankRecord record) {
        Placement worker = asked.get(record.rank());
        if (worker != null) {
            answers.put(worker.rank(), new RankLocation(worker.host(), record));
            notifyAll();
        }
    }

    /** The answers by rank. For a rank that does not answer within {@code timeout}, a record that says so. */
    public synchronized List<RankLocation> await(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + timeout.toNanos();
        for (long left = timeout.toNanos(); !isComplete() && left > 0; left = deadline - System.nanoTime()) {
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        List<RankLocation> all = new ArrayList<>();
        for (Placement worker : asked.values()) {
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
        return begun && answers.size() == asked.size();
    }
}
