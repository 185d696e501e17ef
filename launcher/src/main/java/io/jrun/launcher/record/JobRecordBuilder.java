package io.jrun.launcher.record;

import io.jrun.launcher.coordinator.ExitCodeDescription;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEvent.JobEnded;
import io.jrun.launcher.event.JobEvent.JobStarted;
import io.jrun.launcher.event.JobEvent.MetricsDropped;
import io.jrun.launcher.event.JobEvent.RoundStarted;
import io.jrun.launcher.event.JobEvent.StragglersChanged;
import io.jrun.launcher.event.JobEvent.WorkerEnded;
import io.jrun.launcher.event.JobEvent.WorkerStarted;
import io.jrun.launcher.event.JobEventListener;
import io.jrun.launcher.event.Straggler;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.record.JobRecord.RecordedState;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Makes the record of a job from its events. Confined to one thread. */
final class JobRecordBuilder implements JobEventListener {
    private final Map<Integer, RecordedWorker> workers = new TreeMap<>();
    private @Nullable JobStarted job;
    private RecordedState state = RecordedState.STARTING;
    private long startedMillis;
    private long endedMillis;
    private int exitCode = -1;
    private int round;
    private int restarts;
    private List<Straggler> stragglers = List.of();
    private List<String> report = List.of();
    private long droppedMetrics;

    @Override
    public void on(long timeMillis, JobEvent event) {
        switch (event) {
            case JobStarted started -> {
                job = started;
                startedMillis = timeMillis;
            }
            case RoundStarted started -> begin(started);
            case WorkerStarted(int number, int rank, long pid, String logFolder) -> {
                if (number == round) {
                    workers.computeIfPresent(rank, (_, worker) -> worker.withProcess(pid, logFolder));
                }
            }
            case WorkerEnded ended -> {
                if (ended.round() == round) {
                    workers.computeIfPresent(ended.rank(), (_, worker) -> worker.withEnd(how(ended)));
                }
            }
            case StragglersChanged(List<Straggler> all, boolean _) -> stragglers = all;
            case MetricsDropped(long count) -> droppedMetrics = count;
            case JobEnded ended -> {
                state = RecordedState.ENDED;
                endedMillis = timeMillis;
                exitCode = ended.exitCode();
                report = ended.report();
            }
            case JobEvent.NodeJoined _,
                    JobEvent.NodeLost _,
                    JobEvent.RoundJoined _,
                    JobEvent.WorkerLeft _,
                    JobEvent.WorkerParked _,
                    JobEvent.MetricReported _,
                    JobEvent.GpusReported _,
                    JobEvent.WorkersMeasured _,
                    JobEvent.ClockMeasured _,
                    JobEvent.RankPlaced _,
                    JobEvent.FailureDetected _,
                    JobEvent.Notice _ -> {} // The record of a job has no field for these.
        }
    }

    private void begin(RoundStarted started) {
        state = RecordedState.RUNNING;
        round = started.round();
        restarts = started.restarts();
        workers.clear();
        for (Placement place : started.workers()) {
            workers.put(
                    place.rank(),
                    new RecordedWorker(
                            place.rank(), place.nodeRank(), place.localRank(), place.host(), 0, "", place.gpu(), ""));
        }
    }

    private static String how(WorkerEnded ended) {
        return ended.startError().isEmpty()
                ? ExitCodeDescription.brief(ended.exitCode())
                : "not started: " + ended.startError();
    }

    /** The record until now; empty before the first event. */
    Optional<JobRecord> build() {
        return Optional.ofNullable(job)
                .map(started -> new JobRecord(
                        started,
                        state,
                        startedMillis,
                        endedMillis,
                        exitCode,
                        restarts,
                        List.copyOf(workers.values()),
                        stragglers,
                        report,
                        droppedMetrics));
    }
}
