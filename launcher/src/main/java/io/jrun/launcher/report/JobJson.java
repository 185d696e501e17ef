package io.jrun.launcher.report;

import io.jrun.launcher.coordinator.JobOutcome;
import io.jrun.launcher.coordinator.StopCause;
import io.jrun.launcher.coordinator.Straggler;
import io.jrun.launcher.coordinator.WorkerResult;
import io.jrun.launcher.files.JobFiles;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.layout.Placement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The machine's view of a job, one JSON object on one line. Loaded only with {@code --json}. */
public final class JobJson {
    private JobJson() {}

    /** The result of a job. */
    public static String result(JobSpec job, JobOutcome outcome, List<Straggler> stragglers, double seconds) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("runId", job.runId());
        json.put("exitCode", outcome.exitCode());
        json.put("restarts", outcome.restarts());
        json.put("seconds", Math.round(seconds * 1000) / 1000.0);
        json.put("logDir", job.logDirectory().resolve(job.runId()).toString());
        outcome.cause().ifPresent(cause -> json.put("cause", cause(cause)));
        outcome.told().ifPresent(told -> json.put("toldSeconds", seconds(told.byHost())));
        json.put("workers", outcome.ends().stream().map(JobJson::worker).toList());
        json.put("stragglers", stragglers(stragglers));
        return JsonLine.of(json);
    }

    private static Map<String, Double> seconds(Map<String, Long> millisByHost) {
        Map<String, Double> seconds = new LinkedHashMap<>();
        millisByHost.forEach((host, millis) -> seconds.put(host, millis / 1000.0));
        return seconds;
    }

    /** Ranks that others have waited for. */
    public static List<Map<String, Object>> stragglers(List<Straggler> stragglers) {
        return stragglers.stream().map(JobJson::straggler).toList();
    }

    private static Map<String, Object> straggler(Straggler straggler) {
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

    /**
     * The rank map of a dry run.
     *
     * @param commands by rank
     */
    public static String rankMap(List<Placement> placements, List<List<String>> commands) {
        return JsonLine.of(Map.of("ranks", ranks(placements, commands)));
    }

    /**
     * The same on hosts, with what {@link DryRun} says of them.
     *
     * @param standingBy hosts without ranks at the beginning
     * @param slurm how many workers a node of the allocation has, and by which rule; empty without one
     */
    public static String rankMap(
            List<Placement> placements,
            List<List<String>> commands,
            NodePolicy policy,
            List<String> standingBy,
            Optional<String> slurm,
            JobFiles files) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("ranks", ranks(placements, commands));
        json.put("minNodes", policy.min());
        json.put("maxNodes", policy.max());
        json.put("standingBy", standingBy);
        slurm.ifPresent(words -> json.put("slurm", words));
        json.put("files", files.trees().stream().map(JobJson::files).toList());
        return JsonLine.of(json);
    }

    private static Map<String, Object> files(JobFiles.Tree tree) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("path", tree.path().toString());
        json.put("files", tree.entries().size());
        json.put("bytes", tree.bytes());
        return json;
    }

    private static List<Map<String, Object>> ranks(List<Placement> placements, List<List<String>> commands) {
        List<Map<String, Object>> ranks = new ArrayList<>();
        for (Placement place : placements) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("rank", place.rank());
            json.put("host", place.host());
            json.put("nodeRank", place.nodeRank());
            json.put("localRank", place.localRank());
            json.put("device", place.gpu());
            json.put("command", commands.get(place.rank()));
            ranks.add(json);
        }
        return ranks;
    }

    private static Map<String, Object> cause(StopCause cause) {
        Map<String, Object> json = new LinkedHashMap<>();
        switch (cause) {
            case StopCause.WorkerFailed(WorkerResult end) -> {
                json.put("kind", "workerFailed");
                json.put("rank", end.rank());
                json.put("host", end.host());
                json.put("text", end.startError().isEmpty() ? end.how() : end.startError());
            }
            case StopCause.WorkerHung(int rank, String host, long _, String why) -> {
                json.put("kind", "workerHung");
                json.put("rank", rank);
                json.put("host", host);
                json.put("text", why);
            }
            case StopCause.PeersLost(int rank, String host, String why) -> {
                json.put("kind", "peersLost");
                json.put("rank", rank);
                json.put("host", host);
                json.put("text", why);
            }
            case StopCause.Signalled(var signal) -> {
                json.put("kind", "signal");
                json.put("text", "SIG" + signal.name());
            }
            case StopCause.TimedOut() -> json.put("kind", "timeout");
            case StopCause.NotOpened(String why, boolean _) -> {
                json.put("kind", "notStarted");
                json.put("text", why);
            }
            case StopCause.NodeLost(String host, String why) -> {
                json.put("kind", "agentLost");
                json.put("host", host);
                json.put("text", why);
            }
        }
        return json;
    }

    private static Map<String, Object> worker(WorkerResult end) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("rank", end.rank());
        json.put("localRank", end.localRank());
        json.put("host", end.host());
        json.put("pid", end.pid());
        json.put("exitCode", end.exitCode());
        json.put("stopped", end.afterStop());
        if (end.oomKilled()) {
            json.put("oomKilled", true);
        }
        json.put("seconds", Math.round(end.runSeconds() * 1000) / 1000.0);
        end.error().ifPresent(error -> json.put("error", error.message()));
        if (!end.startError().isEmpty()) {
            json.put("startError", end.startError());
        }
        if (!end.artifacts().isEmpty()) {
            json.put("artifacts", end.artifacts());
        }
        return json;
    }
}
