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

/** {@code jrun flight-recorder}: what the ranks of a failed job did last. */
final class FlightRecorderCommand {
    private FlightRecorderCommand() {}

    /** The report. */
    static String run(FlightRequest request, Optional<JobIndex> index) {
        try {
            FlightReport report = new FlightReport(DumpFolder.read(folder(request, index)));
            return request.json() ? report.json() : String.join("\n", report.lines());
        } catch (DumpException e) {
            throw new UsageException("flight-recorder: " + e.getMessage());
        }
    }

    /** A folder that is there goes before a job of that name. */
    private static Path folder(FlightRequest request, Optional<JobIndex> index) {
        return Files.exists(request.directory())
                ? request.directory()
                : index.flatMap(jobs -> jobs.logs(request.job()))
                        .orElseThrow(() -> new UsageException("flight-recorder: " + request.job()
                                + " is neither a folder nor the run id of a job; 'jrun ps -a' shows all jobs."));
    }
}
