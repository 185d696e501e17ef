package io.jrun.launcher.jobs;

import io.jrun.agent.image.FolderDeletion;
import io.jrun.comm.file.FileError;
import io.jrun.launcher.cli.CommandOption;
import io.jrun.launcher.cli.JobsRequest;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.record.JobIndex;
import io.jrun.launcher.record.JobIndex.IndexedJob;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** {@code jrun rm}: removes the log folders of ended jobs. Checks all jobs before it removes one. Stateless. */
final class JobRemoval {
    private JobRemoval() {}

    /**
     * Removes the jobs of the request. Returns a line for each.
     *
     * @param notices receives a line for each host that keeps files of a removed job
     * @throws UsageException with one line, if a named job does not exist or has not ended; then no job is removed
     */
    static List<String> run(JobFinder finder, JobsRequest request, Consumer<String> notices) {
        Map<String, IndexedJob> jobs = new LinkedHashMap<>();
        for (String name : request.jobs()) {
            IndexedJob job = finder.find(name);
            if (!job.record().isOver()) {
                throw new UsageException(
                        "rm: " + job.name() + " has not ended; 'jrun cancel " + job.name() + "' stops it.");
            }
            jobs.put(job.logs().toString(), job);
        }
        request.endedBeforeDays()
                .ifPresent(days ->
                        old(finder, days).forEach(job -> jobs.put(job.logs().toString(), job)));
        if (request.jobs().isEmpty() && request.endedBeforeDays().isEmpty()) {
            throw new UsageException("rm: name the jobs, or give " + CommandOption.ENDED_BEFORE.longName()
                    + "=DAYS; 'jrun ps -a' shows all.");
        }
        List<String> lines = new ArrayList<>();
        for (IndexedJob job : jobs.values()) {
            try {
                reportOthers(job, notices);
                FolderDeletion.delete(job.logs());
                lines.add("removed " + job.name() + ": " + job.logs());
            } catch (IOException e) {
                throw new UsageException(
                        "rm: cannot remove " + job.logs() + ": " + FileError.reason(e, job.logs()) + ".");
            }
        }
        finder.index().ifPresent(JobIndex::all); // forgets the jobs without folders
        return lines.isEmpty() ? List.of("no job ended so long ago") : lines;
    }

    private static List<IndexedJob> old(JobFinder finder, int days) {
        long before = System.currentTimeMillis() - TimeUnit.DAYS.toMillis(days);
        return finder.index().stream()
                .flatMap(index -> index.all().stream())
                .filter(job -> job.record().isOver() && endedMillis(job) < before)
                .toList();
    }

    /** The end of a job; of a lost job the start, since its end is not known. */
    private static long endedMillis(IndexedJob job) {
        return Math.max(job.record().endedMillis(), job.record().startedMillis());
    }

    /** Each node writes the files of its own ranks, and the folder need not be shared. */
    private static void reportOthers(IndexedJob job, Consumer<String> notices) {
        TreeSet<String> hosts = job.record().workers().stream()
                .filter(worker -> !worker.logFolder().isEmpty()
                        && !Files.exists(job.logs().resolve(worker.logFolder())))
                .map(RecordedWorker::host)
                .collect(Collectors.toCollection(TreeSet::new));
        if (!hosts.isEmpty()) {
            notices.accept("the files of ranks on " + String.join(", ", hosts) + " stay there, in " + job.logs());
        }
    }
}
