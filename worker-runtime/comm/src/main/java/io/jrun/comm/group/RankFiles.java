package io.jrun.comm.group;

import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.flight.FlightDump;
import io.jrun.comm.flight.FlightRecorder;
import io.jrun.comm.flight.RankRecords;
import io.jrun.comm.timeline.Timeline;
import java.nio.file.Path;

/**
 * The files that the runtime of a rank writes into its log folder: the dump of the flight recorder, and the timeline.
 *
 * @param folder the rank's log folder
 * @param wholeTimeline whether the timeline keeps all entries, or the last ones
 */
public record RankFiles(Path folder, boolean wholeTimeline) {
    FlightDump dump(FlightRecorder recorder, WorldContext world) {
        return new FlightDump(new RankRecords(recorder, world), world.rank(), folder);
    }

    /** Begins the timeline of this rank in its round, which is the timeline of this process. */
    Timeline openTimeline(WorldContext world) {
        Timeline opened = Timeline.open(
                folder,
                world.rank(),
                world.peers().size(),
                world.round(),
                wholeTimeline,
                problem -> System.err.println("jrun: rank " + world.rank() + ": " + problem));
        Timeline.useInProcess(opened);
        return opened;
    }
}
