package io.jrun.launcher;

import io.jrun.launcher.cli.FlightRequest;
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

    /** Returns the report. */
    static String run(FlightRequest request, Optional<JobIndex> index) {
        try {
            FlightReport report = new FlightReport(DumpFolder.read(folder(request, index)));
            return request.json() ? report.json() : String.join("\n", report.lines());
        } catch (DumpException e) {
            throw new UsageException("flight-recorder: " + e.getMessage());
        }
    }

    /** Returns the folder to read. An existing folder has precedence over a job of the same name. */
    private static Path folder(FlightRequest request, Optional<JobIndex> index) {
        return Files.exists(request.directory())
                ? request.directory()
                : index.flatMap(jobs -> jobs.logs(request.job()))
                        .orElseThrow(() -> new UsageException("flight-recorder: " + request.job()
                                + " is neither a folder nor the run id of a job; 'jrun ps -a' shows all jobs."));
    }
}
