package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.proto.ControlRequest;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RankDeparturesTest {
    private static final int NODES = 1000;

    private final List<ControlRequest> sent = new ArrayList<>();
    private long nanos;
    private final RankDepartures rankDepartures = new RankDepartures(() -> nanos, sent::add);

    @Test
    void firstDepartureIsSentAtOnceAndTheOthersTogetherAfterAPause() {
        rankDepartures.add(1, 5, "left");
        rankDepartures.sendDue(NODES);
        assertThat(sent).containsExactly(AgentMessages.rankLeft(1, List.of(5), "left"));
        for (int rank = 6; rank < 9; rank++) {
            rankDepartures.add(1, rank, "left");
            rankDepartures.sendDue(NODES);
        }
        rankDepartures.add(1, 9, "exited");
        rankDepartures.sendDue(NODES);
        assertThat(sent).hasSize(1);
        nanos += rankDepartures.nanosLeft();
        rankDepartures.sendDue(NODES);
        assertThat(sent)
                .endsWith(
                        AgentMessages.rankLeft(1, List.of(6, 7, 8), "left"),
                        AgentMessages.rankLeft(1, List.of(9), "exited"))
                .hasSize(3);
        assertThat(rankDepartures.nanosLeft()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void laterDeparturesAreSentLater() {
        rankDepartures.add(1, 5, "left");
        rankDepartures.sendNow(NODES);
        rankDepartures.add(1, 6, "left");
        rankDepartures.sendNow(NODES);
        assertThat(sent).hasSize(2);
    }

    @Test
    void earlierRoundIsOfNoInterest() {
        rankDepartures.add(1, 5, "left");
        rankDepartures.sendDue(NODES);
        rankDepartures.add(1, 6, "left");
        rankDepartures.add(2, 7, "left");
        rankDepartures.sendNow(NODES);
        assertThat(sent).endsWith(AgentMessages.rankLeft(2, List.of(7), "left")).hasSize(2);
    }
}
