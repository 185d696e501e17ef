package io.jrun.launcher.event;

import io.jrun.launcher.event.JobEvent.ClockMeasured;
import io.jrun.launcher.event.JobEvent.FailureDetected;
import io.jrun.launcher.event.JobEvent.GpusReported;
import io.jrun.launcher.event.JobEvent.JobEnded;
import io.jrun.launcher.event.JobEvent.JobStarted;
import io.jrun.launcher.event.JobEvent.MetricReported;
import io.jrun.launcher.event.JobEvent.MetricsDropped;
import io.jrun.launcher.event.JobEvent.NodeJoined;
import io.jrun.launcher.event.JobEvent.NodeLost;
import io.jrun.launcher.event.JobEvent.Notice;
import io.jrun.launcher.event.JobEvent.RankPlaced;
import io.jrun.launcher.event.JobEvent.RoundJoined;
import io.jrun.launcher.event.JobEvent.RoundStarted;
import io.jrun.launcher.event.JobEvent.StragglersChanged;
import io.jrun.launcher.event.JobEvent.WorkerEnded;
import io.jrun.launcher.event.JobEvent.WorkerLeft;
import io.jrun.launcher.event.JobEvent.WorkerParked;
import io.jrun.launcher.event.JobEvent.WorkerStarted;
import io.jrun.launcher.event.JobEvent.WorkersMeasured;
import io.jrun.launcher.layout.Placement;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Events as JSON objects. {@link EventJsonReader} reads the same. docs/job-events.md describes the fields. Stateless.
 */
public final class EventJson {
    private static final double MILLIS = 1000.0;

    private EventJson() {}

    /** The fields of an event, with its type and its time. */
    public static Map<String, Object> of(long timeMillis, JobEvent event) {
        Map<String, Object> json = new LinkedHashMap<>();
        String name = event.getClass().getSimpleName();
        json.put("type", Character.toLowerCase(name.charAt(0)) + name.substring(1));
        json.put("time", timeMillis / MILLIS);
        putFields(event, json);
        return json;
    }

    private static void putFields(JobEvent event, Map<String, Object> json) {
        switch (event) {
            case JobStarted started -> putJob(started, json);
            case NodeJoined joined -> putNode(joined, json);
            case NodeLost(int node, String host, String reason) -> {
                json.put("node", node);
                json.put("host", host);
                json.put("reason", reason);
            }
            case RoundStarted(int round, int restarts, List<Placement> workers) -> {
                json.put("round", round);
                json.put("restarts", restarts);
                json.put("workers", workers.stream().map(EventJson::of).toList());
            }
            case RoundJoined(int round) -> json.put("round", round);
            case WorkerStarted(int round, int rank, long pid, String logFolder) -> {
                putRank(round, rank, json);
                json.put("pid", pid);
                json.put("logFolder", logFolder);
            }
            case WorkerLeft(int round, int rank, String how) -> {
                putRank(round, rank, json);
                json.put("how", how);
            }
            case WorkerParked(int round, int rank, String reason) -> {
                putRank(round, rank, json);
                json.put("reason", reason);
            }
            case WorkerEnded ended -> {
                json.put("round", ended.round());
                json.putAll(of(ended));
                json.put("logFolder", ended.logFolder());
            }
            case MetricReported metric -> {
                json.put("round", metric.round());
                json.putAll(of(metric));
            }
            case GpusReported(int node, String host, List<GpuLoad> gpus) -> {
                json.put("node", node);
                json.put("host", host);
                json.put("gpus", gpus.stream().map(EventJson::of).toList());
            }
            case WorkersMeasured(int node, String host, List<WorkerLoad> workers) -> {
                json.put("node", node);
                json.put("host", host);
                json.put("workers", workers.stream().map(EventJson::of).toList());
            }
            case MetricsDropped(long count) -> json.put("count", count);
            case StragglersChanged(List<Straggler> stragglers, boolean atEnd) -> {
                json.put("stragglers", of(stragglers));
                json.put("atEnd", atEnd);
            }
            case ClockMeasured(int node, String host, long offsetNanos, long errorNanos, long launcherNanos) -> {
                json.put("node", node);
                json.put("host", host);
                json.put("offsetNanos", offsetNanos);
                json.put("errorNanos", errorNanos);
                json.put("launcherNanos", launcherNanos);
            }
            case RankPlaced(int round, int rank, String place) -> {
                putRank(round, rank, json);
                json.put("place", place);
            }
            case FailureDetected(int round, JobFailure failure) -> {
                json.put("round", round);
                json.put("cause", of(failure));
            }
            case Notice(String text) -> json.put("text", text);
            case JobEnded ended -> putEnd(ended, json);
        }
    }

    private static void putRank(int round, int rank, Map<String, Object> json) {
        json.put("round", round);
        json.put("rank", rank);
    }

    private static void putJob(JobStarted started, Map<String, Object> json) {
        json.put("runId", started.runId());
        json.put("version", started.version());
        json.put("launcherHost", started.launcher().host());
        json.put("launcherPid", started.launcher().pid());
        json.put("launcherBoot", started.launcher().boot());
        json.put("launcherStartTicks", started.launcher().startTicks());
        json.put("detached", started.detached());
        json.put("graceSeconds", started.graceMillis() / MILLIS);
        json.put("workdir", started.workdir().toString());
        json.put("typed", started.typed());
        json.put("command", started.command());
        json.put("variables", started.variables());
        json.put("networkVariables", started.networkVariables());
        json.put("hosts", started.hosts());
    }

    private static void putNode(NodeJoined joined, Map<String, Object> json) {
        json.put("node", joined.node());
        json.put("host", joined.host());
        json.put("address", joined.address());
        json.put("cores", joined.cores());
        json.put("devices", joined.devices());
    }

    private static void putEnd(JobEnded ended, Map<String, Object> json) {
        json.put("exitCode", ended.exitCode());
        json.put("restarts", ended.restarts());
        json.put("seconds", rounded(ended.seconds()));
        ended.cause().ifPresent(cause -> json.put("cause", of(cause)));
        json.put("failureBroadcastSeconds", ended.failureBroadcastSeconds());
        json.put("report", ended.report());
    }

    private static Map<String, Object> of(Placement place) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", place.rank());
        json.put("nodeRank", place.nodeRank());
        json.put("localRank", place.localRank());
        json.put("host", place.host());
        json.put("device", place.gpu());
        return json;
    }

    /** A cause. Fields without a value are left out. */
    public static Map<String, Object> of(JobFailure failure) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("kind", failure.kind());
        failure.rank().ifPresent(rank -> json.put("rank", rank));
        if (!failure.host().isEmpty()) {
            json.put("host", failure.host());
        }
        if (!failure.text().isEmpty()) {
            json.put("text", failure.text());
        }
        return json;
    }

    /** The exit of a worker. Fields without a value are left out. */
    public static Map<String, Object> of(WorkerEnded ended) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", ended.rank());
        json.put("localRank", ended.localRank());
        json.put("host", ended.host());
        json.put("pid", ended.pid());
        json.put("exitCode", ended.exitCode());
        json.put("stopped", ended.stopped());
        if (ended.oomKilled()) {
            json.put("oomKilled", true);
        }
        json.put("seconds", rounded(ended.seconds()));
        if (!ended.error().isEmpty()) {
            json.put("error", ended.error());
        }
        if (!ended.startError().isEmpty()) {
            json.put("startError", ended.startError());
        }
        if (!ended.artifacts().isEmpty()) {
            json.put("artifacts", ended.artifacts());
        }
        return json;
    }

    /** Values of a step. */
    public static Map<String, Object> of(MetricReported metric) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", metric.rank());
        json.put("step", metric.step());
        json.put("values", metric.values());
        return json;
    }

    /** The load of a GPU. Unknown values are left out. */
    public static Map<String, Object> of(GpuLoad gpu) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("device", gpu.device());
        json.put("name", gpu.name());
        json.put("values", gpu.values());
        return json;
    }

    /** The CPU time and the memory of a worker. */
    public static Map<String, Object> of(WorkerLoad load) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", load.rank());
        json.put("cpuPercent", Math.round(10 * load.cpuPercent()) / 10.0);
        json.put("residentBytes", load.residentBytes());
        return json;
    }

    /** Ranks for which others wait. */
    public static List<Map<String, Object>> of(List<Straggler> stragglers) {
        return stragglers.stream().map(EventJson::of).toList();
    }

    private static Map<String, Object> of(Straggler straggler) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", straggler.rank());
        json.put("group", straggler.group());
        json.put("othersWaitedSeconds", straggler.seconds());
        json.put("share", straggler.share());
        json.put("score", straggler.score());
        json.put("last", straggler.last());
        json.put("collectives", straggler.collectives());
        json.put("medianSeconds", straggler.medianSeconds());
        json.put("p95Seconds", straggler.p95Seconds());
        json.put("maxSeconds", straggler.maxSeconds());
        return json;
    }

    /** Seconds, to milliseconds. */
    public static double rounded(double seconds) {
        return Math.round(seconds * MILLIS) / MILLIS;
    }
}
