package io.jrun.launcher;

import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.cli.UsageException;
import io.jrun.launcher.flight.DumpException;
import io.jrun.launcher.flight.DumpFolder;
import io.jrun.launcher.flight.FlightReport;
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
            FlightReport report = new FlightReport(DumpFolder.read(folder(job, commandContext.resolve(job), index)));
            return json ? report.json() : String.join("\n", report.lines());
        } catch (DumpException e) {
            throw new UsageException("flight-recorder: " + e.getMessage());
        }
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
