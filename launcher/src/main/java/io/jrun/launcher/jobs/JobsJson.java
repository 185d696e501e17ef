package io.jrun.launcher.jobs;

import io.jrun.launcher.event.EventJson;
import io.jrun.launcher.event.JobEvent.GpusReported;
import io.jrun.launcher.json.JsonLine;
import io.jrun.launcher.record.JobIndex.IndexedJob;
import io.jrun.launcher.record.JobRecord;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import io.jrun.launcher.record.LatestMetrics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Jobs as JSON on one line, for programs. Stateless. */
final class JobsJson {
    private JobsJson() {}

    /** {@code ps --json}. */
    static String list(List<IndexedJob> jobs) {
        return JsonLine.of(Map.of("jobs", jobs.stream().map(JobsJson::head).toList()));
    }

    /** {@code describe --json}. */
    static String describe(IndexedJob job, LatestMetrics.LatestReports latest) {
        Map<String, Object> json = head(job);
        JobRecord record = job.record();
        json.put("workdir", record.job().workdir().toString());
        json.put("typed", record.job().typed());
        json.put("variables", record.job().variables());
        json.put("networkVariables", record.job().networkVariables());
        json.put("hosts", record.job().hosts());
        json.put("restarts", record.restarts());
        json.put("detached", record.job().detached());
        json.put("launcherHost", record.job().launcher().host());
        json.put("launcherPid", record.job().launcher().pid());
        json.put("workers", record.workers().stream().map(JobsJson::worker).toList());
        json.put("stragglers", EventJson.of(record.stragglers()));
        json.put("metrics", latest.ranks().stream().map(EventJson::of).toList());
        json.put("gpus", latest.gpus().stream().map(JobsJson::gpus).toList());
        json.put("droppedMetrics", record.droppedMetrics());
        json.put("report", record.report());
        return JsonLine.of(json);
    }

    private static Map<String, Object> gpus(GpusReported node) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("host", node.host());
        json.put("gpus", node.gpus().stream().map(EventJson::of).toList());
        return json;
    }

    private static Map<String, Object> head(IndexedJob job) {
        JobRecord record = job.record();
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("runId", job.name());
        json.put("state", record.state().name().toLowerCase(Locale.ROOT));
        if (record.state() == JobRecord.RecordedState.ENDED) {
            json.put("exitCode", record.exitCode());
            json.put("endTime", record.endedMillis() / 1000.0);
            json.put("seconds", (record.endedMillis() - record.startedMillis()) / 1000.0);
        }
        json.put("startTime", record.startedMillis() / 1000.0);
        json.put("workerCount", record.workers().size());
        json.put("command", record.job().command());
        json.put("logDir", job.logs().toString());
        return json;
    }

    private static Map<String, Object> worker(RecordedWorker worker) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", worker.rank());
        json.put("localRank", worker.localRank());
        json.put("nodeRank", worker.nodeRank());
        json.put("host", worker.host());
        json.put("pid", worker.pid());
        json.put("device", worker.gpu());
        json.put("logFolder", worker.logFolder());
        json.put("end", worker.end());
        return json;
    }
}
