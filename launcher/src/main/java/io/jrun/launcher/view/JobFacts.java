package io.jrun.launcher.view;

import io.jrun.launcher.event.GpuLoad;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEvent.ClockMeasured;
import io.jrun.launcher.event.JobEvent.NodeJoined;
import io.jrun.launcher.event.JobEvent.WorkerEnded;
import io.jrun.launcher.event.JobEventListener;
import io.jrun.launcher.event.JobFailure;
import io.jrun.launcher.event.WorkerLoad;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The facts of a job that its record lacks: nodes, ends, failures, places and clocks. Confined to one thread. */
public final class JobFacts implements JobEventListener {
    /** The last notices of jrun are enough for a page. */
    private static final int MOST_NOTICES = 100;

    /**
     * A failure of a round.
     *
     * @param round 0 before the first round
     */
    public record TimedFailure(long timeMillis, int round, JobFailure failure) {}

    /** A message of jrun for the user. */
    public record TimedNotice(long timeMillis, String text) {}

    private final Map<Integer, NodeJoined> nodes = new TreeMap<>();
    private final Map<Integer, String> lost = new TreeMap<>();
    private final Map<Integer, List<GpuLoad>> gpus = new TreeMap<>();
    private final Map<Integer, WorkerLoad> loads = new TreeMap<>();
    private final Map<Integer, WorkerEnded> ends = new TreeMap<>();
    private final Map<Integer, String> places = new TreeMap<>();
    private final Map<String, List<ClockMeasured>> clocks = new TreeMap<>();
    private final List<TimedFailure> failures = new ArrayList<>();
    private final ArrayDeque<TimedNotice> notices = new ArrayDeque<>();
    private @Nullable JobFailure cause;
    private int round;

    @Override
    public void on(long timeMillis, JobEvent event) {
        switch (event) {
            case NodeJoined joined -> {
                nodes.put(joined.node(), joined);
                lost.remove(joined.node());
            }
            case JobEvent.NodeLost(int node, String _, String reason) -> lost.put(node, reason);
            case JobEvent.GpusReported(int node, String _, List<GpuLoad> loads) -> gpus.put(node, loads);
            case JobEvent.WorkersMeasured(int _, String _, List<WorkerLoad> workers) ->
                workers.forEach(load -> loads.put(load.rank(), load));
            case JobEvent.RoundStarted started -> {
                round = started.round();
                ends.clear();
                loads.clear();
                places.clear();
            }
            case JobEvent.RankPlaced(int number, int rank, String place) -> {
                if (number == round) {
                    places.put(rank, place);
                }
            }
            case WorkerEnded ended -> {
                if (ended.round() == round) {
                    ends.put(ended.rank(), ended);
                }
            }
            case ClockMeasured clock ->
                clocks.computeIfAbsent(clock.host(), _ -> new ArrayList<>()).add(clock);
            case JobEvent.FailureDetected(int number, JobFailure failure) ->
                failures.add(new TimedFailure(timeMillis, number, failure));
            case JobEvent.Notice(String text) -> {
                if (notices.size() == MOST_NOTICES) {
                    notices.remove();
                }
                notices.add(new TimedNotice(timeMillis, text));
            }
            case JobEvent.JobEnded ended -> cause = ended.cause().orElse(null);
            default -> {} // The record of the job has the others.
        }
    }

    /** The number of the last round, 0 before the first. */
    public int round() {
        return round;
    }

    /** The measurements of the clock of each host, in the order of their times. */
    public Map<String, List<ClockMeasured>> clocks() {
        return clocks;
    }

    /** The nodes that have joined, by the number of their agent. */
    Map<Integer, NodeJoined> nodes() {
        return nodes;
    }

    /** Why a node was lost, by the number of its agent. */
    Map<Integer, String> lost() {
        return lost;
    }

    Map<Integer, List<GpuLoad>> gpus() {
        return gpus;
    }

    /** The CPU time and memory of the workers of the last round, by rank. */
    Map<Integer, WorkerLoad> loads() {
        return loads;
    }

    /** The ends of workers of the last round, by rank. */
    Map<Integer, WorkerEnded> ends() {
        return ends;
    }

    /** The places of ranks in a mesh, by rank. */
    Map<Integer, String> places() {
        return places;
    }

    List<TimedNotice> notices() {
        return List.copyOf(notices);
    }

    List<TimedFailure> failures() {
        return List.copyOf(failures);
    }

    /** The failure that ended the job, or the failure of the current round; empty without a failure. */
    Optional<TimedFailure> failure() {
        Optional<TimedFailure> last = failures.isEmpty() ? Optional.empty() : Optional.of(failures.getLast());
        if (cause != null) {
            JobFailure ofJob = cause;
            return Optional.of(last.filter(known -> known.failure().equals(ofJob))
                    .orElseGet(() ->
                            new TimedFailure(last.map(TimedFailure::timeMillis).orElse(0L), round, ofJob)));
        }
        return last.filter(known -> known.round() == round);
    }
}
