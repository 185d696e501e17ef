package io.jrun.launcher.view;

import io.jrun.comm.file.ControlCharacters;
import io.jrun.launcher.event.GpuLoad;
import io.jrun.launcher.event.JobEvent.MetricReported;
import io.jrun.launcher.event.JobEvent.WorkerEnded;
import io.jrun.launcher.event.Straggler;
import io.jrun.launcher.event.WorkerLoad;
import io.jrun.launcher.record.JobRecord;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The ranks of jobs as text. Stateless. */
public final class TopText {
    private static final int MOST_RANKS = 64;
    private static final int MOST_HOST_CHARS = 16;

    /** With a host of six letters a row fits into a terminal of 80 columns. */
    private static final String ROW = "%4s  %s  %-9s %7s %9s %9s %8s %6s %9s";

    private TopText() {}

    /** The text of some jobs. */
    public static List<String> lines(List<JobView> jobs, long nowMillis) {
        List<String> lines = new ArrayList<>();
        if (jobs.isEmpty()) {
            lines.add("no job runs; 'jrun ps -a' shows the ended jobs");
        }
        for (JobView job : jobs) {
            if (!lines.isEmpty()) {
                lines.add("");
            }
            add(job, nowMillis, lines);
        }
        return lines.stream().map(ControlCharacters::replaced).toList();
    }

    private static void add(JobView job, long nowMillis, List<String> lines) {
        JobRecord record = job.record();
        Map<Integer, MetricReported> latest = job.latest();
        long end = record.endedMillis() == 0 ? nowMillis : record.endedMillis();
        lines.add("%s  %s  %s  %d ranks  %s"
                .formatted(
                        job.name(),
                        record.state().name().toLowerCase(Locale.ROOT),
                        duration(end - record.startedMillis()),
                        record.workers().size(),
                        progress(latest)));
        for (Straggler straggler : record.stragglers()) {
            lines.add(straggler.wordsSoFar());
        }
        job.facts()
                .failure()
                .ifPresent(failure -> lines.add("failure: " + failure.failure().text()));
        boolean hasGpus = !job.facts().gpus().isEmpty();
        int hostChars = record.workers().stream()
                .mapToInt(worker -> worker.host().length())
                .max()
                .orElse(0);
        String hostColumn = "%-" + Math.clamp(hostChars, 4, MOST_HOST_CHARS) + "s";
        String host = hostColumn.formatted("HOST");
        lines.add(ROW.formatted("RANK", host, "STATE", "STEP", "STEP TIME", "WAITS", "TOKENS/S", "CPU", "MEMORY")
                + (hasGpus ? "  GPU" : ""));
        record.workers().stream()
                .limit(MOST_RANKS)
                .forEach(worker -> lines.add(row(worker, hostColumn, record, job, latest.get(worker.rank()))
                        + (hasGpus ? "  " + gpu(worker, job.facts()) : "")));
        if (record.workers().size() > MOST_RANKS) {
            lines.add("... and " + (record.workers().size() - MOST_RANKS) + " more ranks; see 'jrun dashboard'");
        }
    }

    private static String progress(Map<Integer, MetricReported> latest) {
        return latest.values().stream()
                .findFirst()
                .map(report -> {
                    double planned = report.values().getOrDefault("planned_steps", 0.0);
                    String step =
                            planned > 0 ? "step " + report.step() + "/" + Math.round(planned) : "step " + report.step();
                    Double loss = report.values().get("loss");
                    return loss == null ? step : step + String.format(Locale.ROOT, "  loss %.4f", loss);
                })
                .orElse("no metrics");
    }

    private static String row(
            RecordedWorker worker, String hostColumn, JobRecord record, JobView job, @Nullable MetricReported latest) {
        WorkerEnded end = job.facts().ends().get(worker.rank());
        WorkerLoad load = job.facts().loads().get(worker.rank());
        return ROW.formatted(
                worker.rank(),
                hostColumn.formatted(cut(worker.host(), MOST_HOST_CHARS)),
                end == null ? (record.isOver() ? "unknown" : "running") : worker.end(),
                latest == null ? "-" : Long.toString(latest.step()),
                millis(latest, "step_seconds"),
                millis(latest, "exposed_communication_seconds"),
                latest == null || !latest.values().containsKey("tokens_per_second")
                        ? "-"
                        : Long.toString(Math.round(latest.values().get("tokens_per_second"))),
                load == null ? "-" : Math.round(load.cpuPercent()) + " %",
                load == null ? "-" : (load.residentBytes() >> 20) + " MiB");
    }

    /** The GPU of a rank with its utilization and memory: {@code 0 97 % 61440 MiB}. */
    private static String gpu(RecordedWorker worker, JobFacts facts) {
        String load = facts.nodes().values().stream()
                .filter(node -> node.host().equals(worker.host()))
                .flatMap(node -> facts.gpus().getOrDefault(node.node(), List.of()).stream())
                .filter(gpu -> gpu.device().equals(worker.gpu()))
                .findFirst()
                .map(gpu -> percent(gpu.values()) + mebibytes(gpu.values()))
                .orElse("");
        return worker.gpu().isEmpty() ? "-" : worker.gpu() + load;
    }

    private static String percent(Map<String, Double> values) {
        Double percent = values.get(GpuLoad.UTILIZATION_PERCENT);
        return percent == null ? "" : " " + Math.round(percent) + " %";
    }

    private static String mebibytes(Map<String, Double> values) {
        Double bytes = values.get(GpuLoad.MEMORY_USED_BYTES);
        return bytes == null ? "" : " " + (Math.round(bytes) >> 20) + " MiB";
    }

    private static String millis(@Nullable MetricReported latest, String name) {
        Double seconds = latest == null ? null : latest.values().get(name);
        return seconds == null ? "-" : String.format(Locale.ROOT, "%.1f ms", 1e3 * seconds);
    }

    private static String cut(String text, int most) {
        return text.length() <= most ? text : text.substring(0, most - 1) + "~";
    }

    private static String duration(long millis) {
        long seconds = Math.max(0, millis) / 1000;
        return "%d:%02d:%02d".formatted(seconds / 3600, seconds / 60 % 60, seconds % 60);
    }
}
