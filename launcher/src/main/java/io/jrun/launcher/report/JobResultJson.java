package io.jrun.launcher.report;

import io.jrun.launcher.event.EventJson;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEvent.JobEnded;
import io.jrun.launcher.event.JobEvent.MetricReported;
import io.jrun.launcher.event.JobEvent.MetricsDropped;
import io.jrun.launcher.event.JobEvent.RoundStarted;
import io.jrun.launcher.event.JobEvent.StragglersChanged;
import io.jrun.launcher.event.JobEvent.WorkerEnded;
import io.jrun.launcher.event.JobEventListener;
import io.jrun.launcher.event.Straggler;
import io.jrun.launcher.json.JsonLine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * {@code --json}: prints the result of a job as one JSON object when the job has ended. The publisher calls it from one
 * thread at a time.
 */
public final class JobResultJson implements JobEventListener {
    private final String runId;
    private final Path logs;
    private final Consumer<String> print;
    private final List<WorkerEnded> workers = new ArrayList<>();
    private final Map<Integer, MetricReported> metrics = new TreeMap<>();
    private List<Straggler> stragglers = List.of();
    private long droppedMetrics;

    /**
     * For the result of one job.
     *
     * @param logs the log folder of the job
     * @param print takes the line, and does not wait
     */
    public JobResultJson(String runId, Path logs, Consumer<String> print) {
        this.runId = runId;
        this.logs = logs;
        this.print = print;
    }

    @Override
    public void on(long timeMillis, JobEvent event) {
        switch (event) {
            case RoundStarted _ -> workers.clear();
            case WorkerEnded ended -> workers.add(ended);
            case MetricReported metric -> metrics.put(metric.rank(), metric);
            case MetricsDropped(long count) -> droppedMetrics = count;
            case StragglersChanged(List<Straggler> all, boolean _) -> stragglers = all;
            case JobEnded ended -> print.accept(JsonLine.of(result(ended)));
            default -> {} // The result does not have the other events.
        }
    }

    private Map<String, Object> result(JobEnded ended) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("runId", runId);
        json.put("exitCode", ended.exitCode());
        json.put("restarts", ended.restarts());
        json.put("seconds", EventJson.rounded(ended.seconds()));
        json.put("logDir", logs.toString());
        ended.cause().ifPresent(cause -> json.put("cause", EventJson.of(cause)));
        if (ended.cause().isPresent() && !ended.failureBroadcastSeconds().isEmpty()) {
            json.put("failureBroadcastSeconds", ended.failureBroadcastSeconds());
        }
        json.put("workers", workers.stream().map(EventJson::of).toList());
        json.put("stragglers", EventJson.of(stragglers));
        json.put("metrics", metrics.values().stream().map(EventJson::of).toList());
        json.put("droppedMetrics", droppedMetrics);
        return json;
    }
}
