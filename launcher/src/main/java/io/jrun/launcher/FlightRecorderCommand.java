package io.jrun.launcher;

import io.jrun.comm.record.RankRecord;
import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.flight.DumpException;
import io.jrun.launcher.flight.DumpFolder;
import io.jrun.launcher.flight.DumpListing;
import io.jrun.launcher.flight.FlightReport;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.record.JobIndex;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** {@code jrun flight-recorder}: reports the last operations of the ranks of a failed job. */
final class FlightRecorderCommand {
    private FlightRecorderCommand() {}

    /** Returns the report on {@code job}: a folder, or the run id of a job. */
    static String run(String job, CommandContext commandContext, boolean json, Optional<JobIndex> index) {
        try {
            Path folder = folder(job, commandContext.resolve(job), index);
            return DumpFolder.ofRank(folder).map(dump -> listing(dump, json)).orElseGet(() -> report(folder, json));
        } catch (DumpException e) {
            throw new UsageException("flight-recorder: " + e.getMessage());
        }
    }

    private static String listing(RankRecord dump, boolean json) {
        DumpListing listing = new DumpListing(dump);
        return json ? listing.json() : String.join("\n", listing.lines());
    }

    private static String report(Path folder, boolean json) {
        FlightReport report = new FlightReport(DumpFolder.read(folder));
        return json ? report.json() : String.join("\n", report.lines());
    }

    /** Returns the folder to read. An existing folder has precedence over a job of the same name. */
    private static Path folder(String job, Path folder, Optional<JobIndex> index) {
        return Files.exists(folder)
                ? folder
                : index.flatMap(jobs -> jobs.logs(job))
                        .orElseThrow(() -> new UsageException("flight-recorder: " + job
                                + " is neither a folder nor the run id of a job; 'jrun ps -a' shows all jobs."));
    }
}
