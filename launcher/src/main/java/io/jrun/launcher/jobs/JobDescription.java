package io.jrun.launcher.jobs;

import io.jrun.launcher.event.JobEvent.GpusReported;
import io.jrun.launcher.record.JobIndex.IndexedJob;
import io.jrun.launcher.record.JobRecord;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import io.jrun.launcher.report.DryRun;
import java.util.ArrayList;
import java.util.List;

/** {@code jrun describe}: all known facts of a job, for users. Stateless. */
final class JobDescription {
    static final String LOST = "its launcher has ended without a record of the end: killed, or the machine went down";

    private JobDescription() {}

    /** @param gpus the last report of each node about its GPUs */
    static List<String> lines(IndexedJob job, List<GpusReported> gpus) {
        JobRecord record = job.record();
        List<String> lines = new ArrayList<>();
        line(lines, "job", job.name());
        line(lines, "state", JobTable.state(record) + (record.isLost() ? ": " + LOST : ""));
        line(lines, "typed", DryRun.quoted(record.job().typed()));
        line(lines, "command", DryRun.quoted(record.job().command()));
        line(lines, "folder", record.job().workdir().toString());
        if (!record.job().variables().isEmpty()) {
            line(lines, "variables", String.join(" ", record.job().variables()) + " (values are not recorded)");
        }
        if (!record.job().networkVariables().isEmpty()) {
            line(lines, "network", DryRun.quoted(record.job().networkVariables()));
        }
        if (!record.job().hosts().isEmpty()) {
            line(lines, "hosts", String.join(",", record.job().hosts()));
        }
        line(lines, "started", JobTable.time(record.startedMillis()));
        if (record.endedMillis() != 0) {
            line(
                    lines,
                    "ended",
                    JobTable.time(record.endedMillis()) + ", after "
                            + JobTable.duration(record.endedMillis() - record.startedMillis()));
        }
        line(lines, "restarts", Integer.toString(record.restarts()));
        line(
                lines,
                "launcher",
                "process " + record.job().launcher().pid() + " on "
                        + record.job().launcher().host() + (record.job().detached() ? ", detached" : ""));
        line(lines, "logs", job.logs().toString());
        record.stragglers()
                .forEach(
                        straggler -> line(lines, "late", record.isOver() ? straggler.words() : straggler.wordsSoFar()));
        if (record.droppedMetrics() > 0) {
            line(lines, "metrics", record.droppedMetrics() + " reports of metrics were dropped");
        }
        if (!record.workers().isEmpty()) {
            lines.add("");
            workers(lines, record);
        }
        if (!gpus.isEmpty()) {
            lines.add("");
            lines.addAll(GpuTable.lines(gpus));
        }
        if (!record.report().isEmpty()) {
            lines.add("");
            lines.addAll(record.report());
        }
        return lines;
    }

    private static void line(List<String> lines, String what, String text) {
        lines.add("%-10s %s".formatted(what, text));
    }

    private static void workers(List<String> lines, JobRecord record) {
        List<RecordedWorker> workers = record.workers();
        int width = workers.stream().mapToInt(worker -> worker.host().length()).reduce("HOST".length(), Math::max);
        String format = "%5s  %-" + width + "s  %10s  %8s  %-6s  %s";
        lines.add(format.formatted("RANK", "HOST", "LOCAL RANK", "PID", "DEVICE", "STATE"));
        for (RecordedWorker worker : workers) {
            lines.add(format.formatted(
                    worker.rank(),
                    worker.host(),
                    worker.localRank(),
                    worker.pid() == 0 ? "-" : Long.toString(worker.pid()),
                    worker.gpu().isEmpty() ? "-" : worker.gpu(),
                    state(worker, record)));
        }
    }

    private static String state(RecordedWorker worker, JobRecord record) {
        if (worker.end().isEmpty()) {
            return record.isOver() ? "unknown" : "running";
        }
        return worker.end();
    }
}
