package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.WorkerLocation;
import io.jrun.comm.control.Frame;
import io.jrun.comm.record.RankRecord;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.layout.RankMap;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiConsumer;

/** The launcher's open requests for the records of ranks. Confined to one thread. */
final class LocationQueries {
    /** The requester in messages of the launcher, in place of a rank: the largest uint32. */
    static final int LAUNCHER = -1;

    private final Map<Long, LocationQuery> byId = new HashMap<>();
    private int round;

    /** A round begins. Agents drop requests about another round. */
    void startRound(int number) {
        round = number;
        byId.clear();
    }

    /** @param send sends a message to the agent of a node rank */
    void begin(LocationQuery query, RankMap ranks, BiConsumer<Integer, ControlRequest> send) {
        long id = byId.size() + 1L;
        byId.put(id, query);
        for (Placement worker : query.begin(ranks.placements())) {
            send.accept(
                    worker.nodeRank(),
                    // The sequence belongs to no operation. The sequence differs each time, because agents keep answers
                    // for a while.
                    AgentMessages.locate(
                            LAUNCHER, round, new Frame.Locate(id, worker.rank(), LocationQuery.GROUP, -id)));
        }
    }

    /** Handles an answer to the launcher; returns false for an answer to a rank. */
    boolean take(WorkerLocation message) {
        if (message.getRequester() != LAUNCHER) {
            return false;
        }
        try {
            Frame.Location location = AgentMessages.location(message.getFrame());
            LocationQuery query = byId.get(location.id());
            if (query != null && message.getRound() == round) {
                query.answered(RankRecord.of(location.rank(), location.record().toArray()));
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the agent has sent a location in an unknown encoding", e);
        }
        return true;
    }
}
