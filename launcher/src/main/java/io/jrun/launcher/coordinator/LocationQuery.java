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

/** Asks workers where they are, see {@link Coordinator#ask}. Thread-safe. */
public final class LocationQuery {
    /** The place of every rank is told against the operations of this group. */
    public static final String GROUP = "world";

    private final Optional<Set<Integer>> ranks;
    private final Map<Integer, Placement> asked = new TreeMap<>();
    private final Map<Integer, Answer> answers = new TreeMap<>();
    private boolean begun;

    /** An inquiry about these ranks, or about all. */
    public LocationQuery(Optional<Set<Integer>> ranks) {
        this.ranks = ranks.map(Set::copyOf);
    }

    /**
     * Where one rank is.
     *
     * @param host the host on which the launcher has placed the rank
     */
    public record Answer(String host, RankRecord record) {}

    /** Takes the job's workers; returns those that are to be asked. */
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
            answers.put(worker.rank(), new Answer(worker.host(), record));
            notifyAll();
        }
    }

    /** The answers by rank; of ranks that are silent until {@code timeoutOrder} is over, that they are. */
    public synchronized List<Answer> await(Duration timeoutOrder) throws InterruptedException {
        long deadline = System.nanoTime() + timeoutOrder.toNanos();
        for (long left = timeoutOrder.toNanos(); !isComplete() && left > 0; left = deadline - System.nanoTime()) {
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        List<Answer> all = new ArrayList<>();
        for (Placement worker : asked.values()) {
            all.add(answers.getOrDefault(
                    worker.rank(),
                    new Answer(
                            worker.host(),
                            RankRecord.unknown(
                                    worker.rank(),
                                    "has not answered within " + timeoutOrder.toSeconds() + " s, nor has its agent"))));
        }
        return all;
    }

    private boolean isComplete() {
        return begun && answers.size() == asked.size();
    }
}
