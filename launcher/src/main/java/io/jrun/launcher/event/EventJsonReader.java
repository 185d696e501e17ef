package io.jrun.launcher.event;

import io.jrun.agent.node.ProcessIdentity;
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
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** Reads events from the JSON objects that {@link EventJson} has made. Ignores unknown fields. Stateless. */
public final class EventJsonReader {
    private static final double MILLIS = 1000.0;

    private EventJsonReader() {}

    /** The time of an event, in milliseconds since 1970. */
    public static long timeMillis(Map<String, Object> json) {
        return Math.round(new JsonFields(json).real("time") * MILLIS);
    }

    /** The event; empty if its type is unknown. */
    public static Optional<JobEvent> read(Map<String, Object> json) {
        JsonFields fields = new JsonFields(json);
        int round = fields.integer("round");
        int rank = fields.integer("rank");
        return switch (fields.text("type")) {
            case "jobStarted" -> Optional.of(job(fields));
            case "nodeJoined" -> Optional.of(node(fields));
            case "nodeLost" ->
                Optional.of(new NodeLost(fields.integer("node"), fields.text("host"), fields.text("reason")));
            case "roundStarted" -> Optional.of(round(round, fields));
            case "roundJoined" -> Optional.of(new RoundJoined(round));
            case "workerStarted" ->
                Optional.of(new WorkerStarted(round, rank, fields.number("pid"), fields.text("logFolder")));
            case "workerLeft" -> Optional.of(new WorkerLeft(round, rank, fields.text("how")));
            case "workerParked" -> Optional.of(new WorkerParked(round, rank, fields.text("reason")));
            case "workerEnded" -> Optional.of(worker(round, rank, fields));
            case "metricReported" ->
                Optional.of(new MetricReported(round, rank, fields.number("step"), fields.reals("values")));
            case "gpusReported" ->
                Optional.of(new GpusReported(
                        fields.integer("node"),
                        fields.text("host"),
                        fields.objects("gpus").stream()
                                .map(gpu -> new GpuLoad(gpu.text("device"), gpu.text("name"), gpu.reals("values")))
                                .toList()));
            case "workersMeasured" ->
                Optional.of(new WorkersMeasured(
                        fields.integer("node"),
                        fields.text("host"),
                        fields.objects("workers").stream()
                                .map(load -> new WorkerLoad(
                                        load.integer("rank"), load.real("cpuPercent"), load.number("residentBytes")))
                                .toList()));
            case "metricsDropped" -> Optional.of(new MetricsDropped(fields.number("count")));
            case "stragglersChanged" -> Optional.of(stragglers(fields));
            case "clockMeasured" ->
                Optional.of(new ClockMeasured(
                        fields.integer("node"),
                        fields.text("host"),
                        fields.number("offsetNanos"),
                        fields.number("errorNanos"),
                        fields.number("launcherNanos")));
            case "rankPlaced" -> Optional.of(new RankPlaced(round, rank, fields.text("place")));
            case "failureDetected" -> Optional.of(new FailureDetected(round, failure(fields.object("cause"))));
            case "notice" -> Optional.of(new Notice(fields.text("text")));
            case "jobEnded" -> Optional.of(end(fields));
            default -> Optional.empty();
        };
    }

    private static JobEvent job(JsonFields fields) {
        return new JobStarted(
                fields.text("runId"),
                fields.text("version"),
                new ProcessIdentity(
                        fields.text("launcherHost"),
                        fields.number("launcherPid"),
                        fields.text("launcherBoot"),
                        fields.number("launcherStartTicks")),
                fields.truth("detached"),
                Math.round(fields.real("graceSeconds") * MILLIS),
                Path.of(fields.text("workdir")),
                fields.texts("typed"),
                fields.texts("command"),
                fields.texts("variables"),
                fields.texts("networkVariables"),
                fields.texts("hosts"));
    }

    private static JobEvent node(JsonFields fields) {
        return new NodeJoined(
                fields.integer("node"),
                fields.text("host"),
                fields.text("address"),
                fields.integer("cores"),
                fields.texts("devices"));
    }

    private static JobEvent round(int round, JsonFields fields) {
        return new RoundStarted(
                round,
                fields.integer("restarts"),
                fields.objects("workers").stream()
                        .map(worker -> new Placement(
                                worker.integer("rank"),
                                worker.integer("nodeRank"),
                                worker.integer("localRank"),
                                worker.text("host"),
                                worker.text("device")))
                        .toList());
    }

    private static JobEvent worker(int round, int rank, JsonFields fields) {
        return new WorkerEnded(
                round,
                rank,
                fields.integer("localRank"),
                fields.text("host"),
                fields.number("pid"),
                fields.integer("exitCode"),
                fields.truth("stopped"),
                fields.truth("oomKilled"),
                fields.real("seconds"),
                fields.text("error"),
                fields.text("startError"),
                fields.texts("artifacts"),
                fields.text("logFolder"));
    }

    private static JobEvent stragglers(JsonFields fields) {
        List<Straggler> all = fields.objects("stragglers").stream()
                .map(straggler -> new Straggler(
                        straggler.integer("rank"),
                        straggler.text("group"),
                        straggler.real("othersWaitedSeconds"),
                        straggler.real("share"),
                        straggler.real("score"),
                        straggler.number("last"),
                        straggler.number("collectives"),
                        straggler.real("medianSeconds"),
                        straggler.real("p95Seconds"),
                        straggler.real("maxSeconds")))
                .toList();
        return new StragglersChanged(all, fields.truth("atEnd"));
    }

    private static JobFailure failure(JsonFields fields) {
        return new JobFailure(
                fields.text("kind"),
                fields.has("rank") ? OptionalInt.of(fields.integer("rank")) : OptionalInt.empty(),
                fields.text("host"),
                fields.text("text"));
    }

    private static JobEvent end(JsonFields fields) {
        return new JobEnded(
                fields.integer("exitCode"),
                fields.integer("restarts"),
                fields.real("seconds"),
                fields.has("cause") ? Optional.of(failure(fields.object("cause"))) : Optional.empty(),
                fields.reals("failureBroadcastSeconds"),
                fields.texts("report"));
    }
}
