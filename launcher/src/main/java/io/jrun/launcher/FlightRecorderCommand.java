package io.jrun.launcher;

import io.jrun.launcher.cli.FlightRequest;
import io.jrun.launcher.cli.UsageException;
import io.jrun.launcher.flight.DumpException;
import io.jrun.launcher.flight.DumpFolder;
import io.jrun.launcher.flight.FlightReport;

/** {@code jrun flight-recorder}: what the ranks of a failed job did last. */
final class FlightRecorderCommand {
    private FlightRecorderCommand() {}

    /** The report. */
    static String run(FlightRequest request) {
        try {
            FlightReport report = new FlightReport(DumpFolder.read(request.directory()));
            return request.json() ? report.json() : String.join("\n", report.lines());
        } catch (DumpException e) {
            throw new UsageException("flight-recorder: " + e.getMessage());
        }
    }
}
