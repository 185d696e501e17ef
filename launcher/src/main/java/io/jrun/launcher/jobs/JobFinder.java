package io.jrun.launcher.jobs;

import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.record.JobIndex;
import io.jrun.launcher.record.JobIndex.IndexedJob;
import io.jrun.launcher.record.JobRecordReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
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

    /**
     * The job of an operand: a run id, its unambiguous beginning, or a log folder.
     *
     * @throws UsageException with one line if there is no such job, or its record cannot be read
     */
    public IndexedJob find(String job) {
        if (job.contains("/")) {
            return folder(job);
        }
        JobIndex index = index().orElseThrow(() -> new UsageException(
                "HOME and XDG_STATE_HOME are unset; name the job by its log folder, as ./" + job + "."));
        try {
            return index.find(job).orElseGet(() -> beginsWith(index, job));
        } catch (IOException e) {
            throw new UsageException(job + ": " + e.getMessage() + ".");
        }
    }

    private IndexedJob folder(String job) {
        Path logs = commandContext.resolve(job);
        try {
            return new IndexedJob(String.valueOf(logs.getFileName()), logs, JobRecordReader.read(logs));
        } catch (IOException e) {
            throw new UsageException(job + " is not the log folder of a job: " + e.getMessage() + ".");
        }
    }

    private static IndexedJob beginsWith(JobIndex index, String start) {
        List<IndexedJob> found = index.all().stream()
                .filter(entry -> entry.name().startsWith(start))
                .toList();
        if (found.size() > 1) {
            throw new UsageException("'" + start + "' is the beginning of " + found.size() + " jobs, "
                    + found.getFirst().name() + " and " + found.getLast().name()
                    + " among them; give more characters.");
        }
        if (found.isEmpty()) {
            throw new UsageException("no job is called '" + start + "'; 'jrun ps -a' shows all.");
        }
        return found.getFirst();
    }
}
