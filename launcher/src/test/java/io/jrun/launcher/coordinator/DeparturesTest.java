package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.proto.ToAgent;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class DeparturesTest {
    private static final int NODES = 1000;

    private final List<ToAgent> told = new ArrayList<>();
    private long nanos;
    private final Departures departures = new Departures(() -> nanos, told::add);

    @Test
    void firstIsToldAtOnceAndTheRestTogetherAfterAPause() {
        departures.add(1, 5, "left");
        departures.tell(NODES);
        assertThat(told).containsExactly(Messages.rankLeft(1, List.of(5), "left"));
        for (int rank = 6; rank < 9; rank++) {
            departures.add(1, rank, "left");
            departures.tell(NODES);
        }
        departures.add(1, 9, "exited");
        departures.tell(NODES);
        assertThat(told).hasSize(1);
        nanos += departures.nanosLeft();
        departures.tell(NODES);
        assertThat(told)
                .endsWith(Messages.rankLeft(1, List.of(6, 7, 8), "left"), Messages.rankLeft(1, List.of(9), "exited"))
                .hasSize(3);
        assertThat(departures.nanosLeft()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void whatIsSaidLaterComesLater() {
        departures.add(1, 5, "left");
        departures.tellNow(NODES);
        departures.add(1, 6, "left");
        departures.tellNow(NODES);
        assertThat(told).hasSize(2);
    }

    @Test
    void earlierRoundIsOfNoInterest() {
        departures.add(1, 5, "left");
        departures.tell(NODES);
        departures.add(1, 6, "left");
        departures.add(2, 7, "left");
        departures.tellNow(NODES);
        assertThat(told).endsWith(Messages.rankLeft(2, List.of(7), "left")).hasSize(2);
    }
}
