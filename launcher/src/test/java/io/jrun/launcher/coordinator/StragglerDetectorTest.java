package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.record.GroupRecord;
import io.jrun.launcher.console.EventConsole;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEventPublisher;
import io.jrun.launcher.event.Straggler;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Finds late ranks in a running round from the reports of each second. */
class StragglerDetectorTest {
    private final List<String> said = new ArrayList<>();
    private final List<List<Straggler>> shown = new ArrayList<>();
    private long nowSeconds;
    private final JobEventPublisher events = new JobEventPublisher();
    private final StragglerDetector late = new StragglerDetector(() -> nowSeconds * 1_000_000_000, events);

    StragglerDetectorTest() {
        events.subscribe(new EventConsole(said::add));
        events.subscribe((_, event) -> {
            if (event instanceof JobEvent.StragglersChanged(List<Straggler> stragglers, boolean _)) {
                shown.add(stragglers);
            }
        });
    }

    private static List<GroupRecord> waited(double seconds) {
        return List.of(new GroupRecord("world", List.of(), 100, 100, (long) (seconds * 1e9), List.of()));
    }

    private void aSecondIn(double zero, double one, double two) {
        nowSeconds++;
        late.report(0, waited(zero));
        late.report(1, waited(one));
        late.report(2, waited(two));
        late.tick();
        late.tick();
    }

    private void threeSecondsIn(double zero, double one, double two) {
        for (int second = 0; second < 3; second++) {
            aSecondIn(zero, one, two);
        }
    }

    /** All wait a minute for rank 0; rank 3 tells of it a second later than ranks 1 and 2, and rank 4 two. */
    @Test
    void aRankThatReportsALongWaitLaterIsNotLate() {
        late.begin();
        for (int second = 1; second <= 10; second++) {
            nowSeconds++;
            for (int rank = 0; rank < 5; rank++) {
                boolean hasTold = rank < 3 || second > rank;
                late.report(rank, waited(rank > 0 && hasTold && second > 2 ? 60 : 0));
            }
            late.tick();
        }
        assertThat(said).singleElement().asString().startsWith("rank 0 is late: ");
    }

    @Test
    void aRankIsListedWhileItIsLateAndReportedOnce() {
        late.begin();
        for (int second = 1; second <= 20; second++) {
            aSecondIn(second * 0.5, 0, second * 0.5);
        }
        assertThat(said)
                .singleElement()
                .asString()
                .startsWith("rank 1 is late: others of group world have waited 4.0 s so far (50 % of the time); ");
        // From the eighth second on: a second, two that reports may be apart, and two reports more. Then after each
        // tenth more.
        assertThat(shown)
                .extracting(stragglers -> stragglers.getFirst().seconds())
                .containsExactly(4.0, 4.5, 5.0, 5.5, 6.5, 7.5, 8.5, 9.5);
        late.end(20);
        assertThat(shown.getLast()).singleElement().satisfies(straggler -> {
            assertThat(straggler.rank()).isEqualTo(1);
            assertThat(straggler.seconds()).isEqualTo(10);
        });
        assertThat(said).hasSize(2).last().asString().startsWith("rank 1 was late: ");
    }

    @Test
    void anotherRankIsReportedToo() {
        late.begin();
        threeSecondsIn(10, 0, 10);
        nowSeconds += 100;
        threeSecondsIn(100, 100, 10);
        assertThat(said).hasSize(2).last().asString().startsWith("rank 2 is late: ");
        assertThat(shown.getLast()).extracting(Straggler::rank).containsExactly(2);
    }

    @Test
    void aRoundBeginsWithoutLateRanks() {
        late.begin();
        threeSecondsIn(10, 0, 10);
        events.publish(new JobEvent.RoundStarted(2, 1, List.of()));
        late.begin();
        assertThat(shown.getLast()).isEmpty();
        assertThat(late.of(10)).isEmpty();
        threeSecondsIn(10, 0, 10);
        assertThat(said).hasSize(2);
    }

    /** A rank that has left waits no more: the last reports of all ranks are compared unchanged. */
    @Test
    void inTheEndReportsAreOfOneMoment() {
        late.begin();
        aSecondIn(2, 0, 2);
        assertThat(late.of(10)).isEmpty();
        late.left(0, waited(2));
        late.left(1, waited(0));
        assertThat(late.of(10)).isEmpty();
        late.left(2, waited(2));
        assertThat(late.of(10)).extracting(Straggler::rank).containsExactly(1);
    }
}
