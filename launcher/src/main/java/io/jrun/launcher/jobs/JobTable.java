package io.jrun.launcher.jobs;

import io.jrun.launcher.coordinator.ExitCodeDescription;
import io.jrun.launcher.record.JobIndex.IndexedJob;
import io.jrun.launcher.record.JobRecord;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import io.jrun.launcher.report.DryRun;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** {@code jrun ps}: one line for each job. Stateless. */
final class JobTable {
    private static final int COMMAND_CHARS = 60;
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss", Locale.ROOT);

    private JobTable() {}

    static List<String> lines(List<IndexedJob> jobs, long nowMillis) {
        int width = jobs.stream().mapToInt(job -> job.name().length()).reduce("RUN ID".length(), Math::max);
        String format = "%-" + width + "s  %-20s  %-19s  %8s  %7s  %5s  %s";
        List<String> lines = new ArrayList<>();
        lines.add(format.formatted("RUN ID", "STATE", "STARTED", "TIME", "WORKERS", "NODES", "COMMAND"));
        for (IndexedJob job : jobs) {
            JobRecord record = job.record();
            long end = record.endedMillis() == 0 ? nowMillis : record.endedMillis();
            lines.add(format.formatted(
                    job.name(),
                    state(record),
                    time(record.startedMillis()),
                    record.isLost() ? "?" : duration(end - record.startedMillis()),
                    record.workers().size(),
                    record.workers().stream()
                            .map(RecordedWorker::nodeRank)
                            .distinct()
                            .count(),
                    cut(DryRun.quoted(record.job().command()))));
        }
        return lines;
    }

    /** The state in one or two words: "running", "exit 0", "SIGTERM (143)", "lost". */
    static String state(JobRecord record) {
        return record.state() == JobRecord.RecordedState.ENDED
                ? ExitCodeDescription.brief(record.exitCode())
                : record.state().name().toLowerCase(Locale.ROOT);
    }

    /** A time in the time zone of this machine. */
    static String time(long millis) {
        return TIME.format(Instant.ofEpochMilli(millis).atZone(ZoneId.systemDefault()));
    }

    /** A duration such as "1:02:03". */
    static String duration(long millis) {
        long seconds = Math.max(0, millis) / 1000;
        return "%d:%02d:%02d".formatted(seconds / 3600, seconds / 60 % 60, seconds % 60);
    }

    private static String cut(String command) {
        return command.length() <= COMMAND_CHARS ? command : command.substring(0, COMMAND_CHARS - 3) + "...";
    }
}
