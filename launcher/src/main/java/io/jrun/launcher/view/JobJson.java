package io.jrun.launcher.view;

import io.jrun.launcher.coordinator.ExitCodeDescription;
import io.jrun.launcher.event.EventJson;
import io.jrun.launcher.event.JobEvent.MetricReported;
import io.jrun.launcher.event.JobEvent.NodeJoined;
import io.jrun.launcher.event.JobEvent.WorkerEnded;
import io.jrun.launcher.event.JobFailure;
import io.jrun.launcher.event.WorkerLoad;
import io.jrun.launcher.record.JobRecord;
import io.jrun.launcher.record.JobRecord.RecordedState;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The facts of a job as JSON, for the pages. Names are those of job-events.md. Stateless. */
final class JobJson {
    private static final double MILLIS = 1000.0;

    private JobJson() {}

    static Map<String, Object> head(String name, JobRecord record, JobFacts facts) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("runId", name);
        json.put("state", record.state().name().toLowerCase(Locale.ROOT));
        if (record.state() == RecordedState.ENDED) {
            json.put("exitCode", record.exitCode());
            json.put("exit", ExitCodeDescription.brief(record.exitCode()));
            json.put("endTime", record.endedMillis() / MILLIS);
        }
        json.put("startTime", record.startedMillis() / MILLIS);
        json.put("command", record.job().command());
        json.put("workerCount", record.workers().size());
        json.put(
                "hosts",
                record.workers().stream().map(RecordedWorker::host).distinct().toList());
        json.put("restarts", record.restarts());
        facts.failure().ifPresent(failure -> json.put("failure", failure(failure)));
        return json;
    }

    private static Map<String, Object> failure(JobFacts.TimedFailure timed) {
        JobFailure failure = timed.failure();
        Map<String, Object> json = new LinkedHashMap<>(EventJson.of(failure));
        json.put("round", timed.round());
        if (timed.timeMillis() > 0) {
            json.put("time", timed.timeMillis() / MILLIS);
        }
        return json;
    }

    static Map<String, Object> summary(JobView view, Map<Integer, MetricReported> latest, List<String> problems) {
        JobRecord record = view.record();
        JobFacts facts = view.facts();
        Map<String, Object> json = head(view.name(), record, facts);
        json.put("version", record.job().version());
        json.put("round", facts.round());
        json.put("workdir", record.job().workdir().toString());
        json.put("logDir", view.logs().toString());
        json.put("typed", record.job().typed());
        json.put("variables", record.job().variables());
        json.put("networkVariables", record.job().networkVariables());
        json.put("detached", record.job().detached());
        json.put("launcherHost", record.job().launcher().host());
        json.put("launcherPid", record.job().launcher().pid());
        json.put("report", record.report());
        json.put("stragglers", EventJson.of(record.stragglers()));
        json.put("droppedMetrics", record.droppedMetrics());
        json.put("nodes", nodes(facts));
        json.put(
                "workers",
                record.workers().stream()
                        .map(worker -> worker(worker, record, facts))
                        .toList());
        json.put("failures", facts.failures().stream().map(JobJson::failure).toList());
        json.put("notices", notices(facts));
        json.put("problems", problems);
        json.put("latest", latest.values().stream().map(EventJson::of).toList());
        return json;
    }

    private static List<Map<String, Object>> notices(JobFacts facts) {
        List<Map<String, Object>> all = new ArrayList<>();
        for (JobFacts.TimedNotice notice : facts.notices()) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("time", notice.timeMillis() / MILLIS);
            json.put("text", notice.text());
            all.add(json);
        }
        return all;
    }

    private static List<Map<String, Object>> nodes(JobFacts facts) {
        List<Map<String, Object>> all = new ArrayList<>();
        for (NodeJoined node : facts.nodes().values()) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("node", node.node());
            json.put("host", node.host());
            json.put("address", node.address());
            json.put("cores", node.cores());
            json.put("devices", node.devices());
            String lost = facts.lost().get(node.node());
            if (lost != null) {
                json.put("lost", lost);
            }
            json.put(
                    "gpus",
                    facts.gpus().getOrDefault(node.node(), List.of()).stream()
                            .map(EventJson::of)
                            .toList());
            all.add(json);
        }
        return all;
    }

    private static Map<String, Object> worker(RecordedWorker worker, JobRecord record, JobFacts facts) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", worker.rank());
        json.put("nodeRank", worker.nodeRank());
        json.put("localRank", worker.localRank());
        json.put("host", worker.host());
        json.put("pid", worker.pid());
        json.put("device", worker.gpu());
        json.put("logFolder", worker.logFolder());
        String place = facts.places().get(worker.rank());
        if (place != null) {
            json.put("place", place);
        }
        WorkerEnded end = facts.ends().get(worker.rank());
        json.put("state", state(end, record));
        WorkerLoad load = facts.loads().get(worker.rank());
        if (load != null) {
            json.put("cpuPercent", load.cpuPercent());
            json.put("residentBytes", load.residentBytes());
        }
        if (end != null) {
            json.put("end", worker.end());
            json.put("exitCode", end.exitCode());
            json.put("seconds", end.seconds());
            if (!end.error().isEmpty()) {
                json.put("error", end.error());
            }
            if (end.oomKilled()) {
                json.put("oomKilled", true);
            }
        }
        return json;
    }

    /** How a worker is, in one word. */
    private static String state(@Nullable WorkerEnded end, JobRecord record) {
        if (end == null) {
            return record.isOver() ? "unknown" : "running";
        }
        if (end.exitCode() == 0 && end.startError().isEmpty()) {
            return "succeeded";
        }
        return end.stopped() ? "stopped" : "failed";
    }
}
