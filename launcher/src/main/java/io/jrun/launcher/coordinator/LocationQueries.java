package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.Location;
import io.jrun.agent.proto.ToAgent;
import io.jrun.comm.control.Frame;
import io.jrun.comm.record.RankRecord;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.layout.RankMap;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiConsumer;

/** The inquiries under way: what ranks ask their agents about each other, asked by the launcher. Confined to one thread. */
final class LocationQueries {
    /** No rank: uint32's largest. */
    static final int LAUNCHER = -1;

    private final Map<Long, LocationQuery> byId = new HashMap<>();
    private int round;

    /** Ranks are asked about this round from now on; agents drop questions about another. */
    void startRound(int number) {
        round = number;
        byId.clear();
    }

    /** @param send to an agent, by node rank */
    void begin(LocationQuery inquiry, RankMap ranks, BiConsumer<Integer, ToAgent> send) {
        long id = byId.size() + 1L;
        byId.put(id, inquiry);
        for (Placement worker : inquiry.begin(ranks.placements())) {
            send.accept(
                    worker.nodeRank(),
                    // The sequence is that of no operation. It differs each time, since agents keep answers for a
                    // while.
                    AgentMessages.locate(
                            LAUNCHER, round, new Frame.Locate(id, worker.rank(), LocationQuery.GROUP, -id)));
        }
    }

    /** Whether this was for one of them. */
    boolean take(Location message) {
        if (message.getAsker() != LAUNCHER) {
            return false;
        }
        try {
            Frame.Location location = AgentMessages.location(message.getFrame());
            LocationQuery inquiry = byId.get(location.id());
            if (inquiry != null && message.getRound() == round) {
                inquiry.answered(
                        RankRecord.of(location.rank(), location.record().toArray()));
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the agent of this version encodes locations in another way", e);
        }
        return true;
    }
}
