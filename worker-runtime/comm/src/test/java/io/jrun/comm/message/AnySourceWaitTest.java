package io.jrun.comm.message;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Messages;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupHealth;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame.Peer;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A wait for any source while other ranks leave and time passes. */
class AnySourceWaitTest {
    private final GroupHealth health = new GroupHealth();
    private final AtomicLong now = new AtomicLong(17);
    private final AnySourceWait wait = new AnySourceWait(ofThree(health), receive(), now::get);

    private static GroupContext ofThree(GroupHealth health) {
        List<Peer> peers = IntStream.range(0, 3)
                .mapToObj(rank -> new Peer(rank, 0, rank, "host", "127.0.0.1", 0, 100 + rank))
                .toList();
        WorldContext world = new WorldContext("run", 0, 0, Bytes.EMPTY, peers, Optional.empty());
        return new GroupContext(world, "world", 0, peers, false, Duration.ofMinutes(1), health);
    }

    private static PostedReceive receive() {
        MemorySegment one = MemorySegment.ofArray(new int[1]);
        Call request =
                Call.requested(OpKind.RECV, DataType.I32, ReduceOp.SUM, 1, Messages.ANY_SOURCE, one, one, null, null);
        return new PostedReceive(request, 7, false, 0, Deadline.after(Duration.ofMinutes(1)));
    }

    private void pass(Duration time) {
        now.addAndGet(time.toNanos());
    }

    @Test
    void theWaitContinuesWhileAnotherRankIsLeft() {
        health.left(1, "returned from main");
        for (int look = 0; look < 3; look++) {
            assertThat(wait.nextPauseNanos()).isPositive();
            pass(Duration.ofHours(1));
        }
    }

    @Test
    void messagesOfTheLastRanksMayArriveForTwoSeconds() {
        health.left(1, "returned from main");
        health.left(2, "was killed by SIGKILL");
        assertThat(wait.nextPauseNanos()).isPositive();
        pass(Duration.ofSeconds(2));
        assertThat(wait.nextPauseNanos()).isPositive();
        pass(Duration.ofMillis(1));
        assertThatThrownBy(wait::nextPauseNanos)
                .isInstanceOfSatisfying(
                        CommException.class,
                        failure -> assertThat(failure.code()).isEqualTo(ErrorCode.PEER_LOST))
                .hasMessageContaining("rank 1 (host host, pid 101) returned from main")
                .hasMessageContaining("rank 2 (host host, pid 102) was killed by SIGKILL")
                .hasMessageContaining("no rank is left that could send");
    }

    @Test
    void itsPausesGrowFrom10MicrosecondsToOneMillisecondUntilThereIsAMessage() {
        long[] pauses =
                IntStream.range(0, 9).mapToLong(_ -> wait.nextPauseNanos()).toArray();
        assertThat(pauses).startsWith(10_000, 20_000, 40_000).endsWith(1_000_000, 1_000_000);
        wait.restart();
        assertThat(wait.nextPauseNanos()).isEqualTo(10_000);
    }
}
