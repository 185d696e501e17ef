package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.Locate;
import io.jrun.agent.proto.Location;
import io.jrun.agent.proto.ToAgent;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.layout.RankMap;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiConsumer;

/** The inquiries under way: what ranks ask their agents about each other, asked by the launcher. Confined to one thread. */
final class LocationQueries {
    /** No rank: uint32's largest. */
    private static final int LAUNCHER = -1;

    /** Every rank's place is told against this group's operations. */
    private static final String GROUP = "world";

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
                    AgentMessages.locate(Locate.newBuilder()
                            .setAsker(LAUNCHER)
                            .setRound(round)
                            .setId(id)
                            .setRank(worker.rank())
                            .setGroup(GROUP)
                            .setSequence(
                                    -id) // no operation's, and another one each time, since agents keep answers a while
                            .build()));
        }
    }

    /** Whether this was for one of them. */
    boolean take(Location location) {
        if (location.getAsker() != LAUNCHER) {
            return false;
        }
        LocationQuery inquiry = byId.get(location.getId());
        if (inquiry != null && location.getRound() == round) {
            inquiry.answered(location);
        }
        return true;
    }
}
