package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.coordinator.NodeReconnectBackoff.ScheduledCall;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class NodeReconnectBackoffTest {
    private static final int HOST = 3;

    private final AtomicLong nanos = new AtomicLong();
    private final NodeReconnectBackoff reconnects = new NodeReconnectBackoff(nanos::get, Duration.ofSeconds(30));

    private void pass(Duration time) {
        nanos.addAndGet(time.toNanos());
    }

    /** The host is lost, called as soon as that may be, opens the job and stays for so long. */
    private Optional<ScheduledCall> comesBackFor(Duration stay) {
        Optional<ScheduledCall> call = reconnects.lost(HOST, true);
        call.ifPresent(next -> {
            pass(next.delay().minusNanos(1));
            assertThat(reconnects.due()).isEmpty();
            pass(Duration.ofNanos(1));
            assertThat(reconnects.due()).containsExactly(HOST);
            assertThat(reconnects.due()).isEmpty();
            reconnects.opened(HOST);
            pass(stay);
        });
        return call;
    }

    @Test
    void aHostThatCrashesEveryMinuteIsCalledLessAndLessAndThenNoMore() {
        for (int call = 1; call <= NodeReconnectBackoff.MOST; call++) {
            assertThat(comesBackFor(Duration.ofMinutes(1)))
                    .contains(new ScheduledCall(call, Duration.ofSeconds(30L << (call - 1))));
        }
        assertThat(reconnects.lost(HOST, true)).isEmpty();
        pass(Duration.ofDays(1));
        assertThat(reconnects.due()).isEmpty();
    }

    @Test
    void aHostThatHasStayedBeginsAnew() {
        for (int day = 0; day < 20; day++) {
            assertThat(comesBackFor(Duration.ofDays(1))).contains(new ScheduledCall(1, Duration.ofSeconds(30)));
        }
    }

    @Test
    void aSeatIsFreeAgainHoweverOftenItWasLeft() {
        for (int time = 0; time < 20; time++) {
            assertThat(reconnects.lost(HOST, false)).contains(new ScheduledCall(1, Duration.ofSeconds(30)));
            pass(Duration.ofSeconds(30));
            assertThat(reconnects.due()).isEqualTo(List.of(HOST));
        }
    }

    @Test
    void aRemovedHostIsNotCalled() {
        reconnects.lost(HOST, true);
        reconnects.forget(HOST);
        pass(Duration.ofDays(1));
        assertThat(reconnects.due()).isEmpty();
    }
}
