package io.jrun.comm.shm;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.PausePoint;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * The files of a group's regions: each rank makes one segment of a region, and maps the segments of all ranks. A file
 * loses its name as soon as all ranks have mapped the file. Confined to the group's collectives.
 */
final class RegionFiles {
    private final GroupContext group;
    private final UnaryOperator<String> fileNames;
    private final PhaseSynchronization steps;
    private final SharedFailure poison;
    private final PausePoint pause;

    RegionFiles(
            GroupContext group,
            UnaryOperator<String> fileNames,
            PhaseSynchronization steps,
            SharedFailure poison,
            PausePoint pause) {
        this.group = group;
        this.fileNames = fileNames;
        this.steps = steps;
        this.poison = poison;
        this.pause = pause;
    }

    /** Makes this rank's segment of a region. */
    Segment create(int region, long bytes) {
        return Segment.create(name(region, group.groupRank()), bytes, bytes).orElseThrow(() -> taken(region));
    }

    /**
     * As {@link #create}; empty if /dev/shm has too little room. An eighth of /dev/shm stays free, because other
     * segments of the job have no other place.
     */
    Optional<Segment> createIfRoom(int region, long bytes) {
        return Segment.leavesReserve(bytes) ? Optional.of(create(region, bytes)) : Optional.empty();
    }

    /**
     * Collective. Maps the segments of all ranks. The result is by rank.
     *
     * @param own this rank's segment
     * @param sizes bytes of the segment of each rank
     */
    List<Segment> map(Call call, int region, Segment own, long[] sizes) {
        List<Segment> byRank = new ArrayList<>();
        boolean done = false;
        try {
            pause.reached(call, "map");
            steps.phase(call);
            for (int rank = 0; rank < group.size(); rank++) {
                byRank.add(
                        rank == group.groupRank()
                                ? own
                                : Segment.open(name(region, rank), sizes[rank]).orElseThrow(() -> taken(region)));
            }
            steps.phase(call);
            pause.reached(call, "mapped");
            done = true;
        } catch (CommException failure) {
            // Before the file is removed: a rank that does not find the file must find the cause.
            poison.write(failure);
            throw failure;
        } finally {
            own.unlink();
            byRank.forEach(done ? Segment::closeFile : Segment::close);
            if (byRank.size() <= group.groupRank()) {
                own.close();
            }
        }
        return byRank;
    }

    /** Removes the names of a region that ranks may have left behind. */
    void remove(int region) {
        for (int rank = 0; rank < group.size(); rank++) {
            Segment.remove(name(region, rank));
        }
    }

    private CommException taken(int region) {
        CommException failure = poison.read();
        if (failure != null) {
            return failure;
        }
        return new CommException(
                ErrorCode.SYSTEM, "another process has changed the files of region " + region + " of " + group.label());
    }

    private String name(int region, int rank) {
        return fileNames.apply("region" + region + "-" + rank);
    }
}
