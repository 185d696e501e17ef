package io.jrun.launcher.jobs;

import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.record.JobIndex;
import io.jrun.launcher.record.JobIndex.IndexedJob;
import io.jrun.launcher.record.JobRecordReader;
import io.jrun.launcher.view.JobView;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Finds the job that a command line names. Stateless. */
public final class JobFinder {
    private final CommandContext commandContext;

    public JobFinder(CommandContext commandContext) {
        this.commandContext = commandContext;
    }

    /** The index of this user's jobs; empty if the user has no folder of state. */
    Optional<JobIndex> index() {
        return commandContext.stateFolder().map(JobIndex::in);
    }

    /** Makes something of a job's record. */
    @FunctionalInterface
    private interface RecordUse<T> {
        T of(String name, Path logs) throws IOException;
    }

    /**
     * The job of an operand: a run id, its unambiguous beginning, or a log folder.
     *
     * @throws UsageException with one line if there is no such job, or its record cannot be read
     */
    public IndexedJob find(String job) {
        return read(job, (name, logs) -> new IndexedJob(name, logs, JobRecordReader.read(logs)));
    }

    /** The same job, to follow its events. */
    public JobView view(String job) {
        return read(job, JobView::new);
    }

    private <T> T read(String job, RecordUse<T> use) {
        if (job.contains("/")) {
            Path logs = commandContext.resolve(job);
            try {
                return use.of(String.valueOf(logs.getFileName()), logs);
            } catch (IOException e) {
                throw new UsageException(job + " is not the log folder of a job: " + e.getMessage() + ".");
            }
        }
        JobIndex index = index().orElseThrow(() -> new UsageException(
                "HOME and XDG_STATE_HOME are unset; name the job by its log folder, as ./" + job + "."));
        Map.Entry<String, Path> found =
                index.logs(job).map(logs -> Map.entry(job, logs)).orElseGet(() -> beginsWith(index.folders(), job));
        try {
            return use.of(found.getKey(), found.getValue());
        } catch (IOException e) {
            throw new UsageException(job + ": " + e.getMessage() + ".");
        }
    }

    private static Map.Entry<String, Path> beginsWith(Map<String, Path> folders, String start) {
        List<Map.Entry<String, Path>> found = folders.entrySet().stream()
                .filter(job -> job.getKey().startsWith(start))
                .toList();
        if (found.size() > 1) {
            throw new UsageException("'" + start + "' is the beginning of " + found.size() + " jobs, "
                    + found.getFirst().getKey() + " and " + found.getLast().getKey()
                    + " among them; give more characters.");
        }
        if (found.isEmpty()) {
            throw new UsageException("no job is called '" + start + "'; 'jrun ps -a' shows all.");
        }
        return found.getFirst();
    }
}
