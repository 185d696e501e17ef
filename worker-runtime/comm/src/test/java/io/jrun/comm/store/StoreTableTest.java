package io.jrun.comm.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame.StoreReply;
import io.jrun.comm.control.StoreCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class StoreTableTest {
    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5_000_000L);
    private final StoreTable table = new StoreTable(nanos::get);
    private final List<StoreReply> replies = new ArrayList<>();

    private void submit(StoreCommand command) {
        table.submit(replies.size(), command, replies::add);
    }

    private String lastValue() {
        return replies.getLast().value().map(Bytes::utf8).orElse("-");
    }

    private static Bytes bytes(String text) {
        return Bytes.ofUtf8(text);
    }

    @Test
    void getWaitsForSet() {
        submit(new StoreCommand.Get("k", 1000));
        assertThat(replies).isEmpty();
        submit(new StoreCommand.Set("k", bytes("v")));
        assertThat(replies)
                .hasSize(2)
                .allSatisfy(reply -> assertThat(reply.error()).isEmpty());
        assertThat(replies.get(1).value()).contains(bytes("v"));
    }

    @Test
    void awaitNamesTheMissingKeysWhenItsDeadlinePasses() {
        submit(new StoreCommand.Set("a", bytes("1")));
        submit(new StoreCommand.Await(List.of("a", "b"), 10));
        nanos.addAndGet(9_000_000);
        table.expire();
        assertThat(replies).as("not yet, although the clock has wrapped").hasSize(1);
        nanos.addAndGet(1_000_000);
        table.expire();
        assertThat(replies.getLast().error()).isEqualTo("timeout: no rank has set [b]");
        table.expire();
        submit(new StoreCommand.Set("b", bytes("2")));
        assertThat(replies).as("the wait is over").hasSize(3);
    }

    @Test
    void aFullStoreTakesNoNewKeysButNewValues() {
        StoreReply[] last = new StoreReply[1];
        for (int key = 0; key <= 1 << 20; key++) {
            table.submit(key, new StoreCommand.Set(Integer.toString(key), Bytes.EMPTY), reply -> last[0] = reply);
        }
        assertThat(last[0].error()).isEqualTo("the store is full: 1048576 keys; delete some");
        submit(new StoreCommand.Set("7", bytes("new")));
        assertThat(lastValue()).isEqualTo("new");
        submit(new StoreCommand.Delete("7"));
        submit(new StoreCommand.Add("another", 1));
        assertThat(lastValue()).isEqualTo("1");
    }

    @Test
    void aZeroTimeoutDoesNotWait() {
        submit(new StoreCommand.Get("absent", 0));
        assertThat(replies.getLast().error()).startsWith("timeout");
    }

    @Test
    void addCountsFromZeroAndRefusesWhatIsNoNumber() {
        submit(new StoreCommand.Add("n", 5));
        submit(new StoreCommand.Add("n", -7));
        assertThat(lastValue()).isEqualTo("-2");
        submit(new StoreCommand.Set("n", bytes("x")));
        submit(new StoreCommand.Add("n", 1));
        assertThat(replies.getLast().error()).contains("not a decimal number");
        submit(new StoreCommand.Set("n", bytes(Long.toString(Long.MAX_VALUE))));
        submit(new StoreCommand.Add("n", 1));
        assertThat(replies.getLast().error()).contains("exceeds 64 bits");
    }

    @Test
    void compareAndSetSetsOnlyWhatIsAsExpected() {
        submit(new StoreCommand.CompareAndSet("k", Optional.of(bytes("old")), bytes("new")));
        assertThat(lastValue()).as("absent").isEqualTo("-");
        submit(new StoreCommand.CompareAndSet("k", Optional.empty(), bytes("first")));
        assertThat(lastValue()).isEqualTo("first");
        submit(new StoreCommand.CompareAndSet("k", Optional.empty(), bytes("second")));
        assertThat(lastValue()).isEqualTo("first");
        submit(new StoreCommand.CompareAndSet("k", Optional.of(bytes("first")), bytes("third")));
        assertThat(lastValue()).isEqualTo("third");
    }

    @Test
    void deleteReturnsWhetherTheKeyWasPresent() {
        submit(new StoreCommand.Set("k", bytes("v")));
        submit(new StoreCommand.Delete("k"));
        assertThat(replies.getLast().value()).isPresent();
        submit(new StoreCommand.Delete("k"));
        assertThat(replies.getLast().value()).isEmpty();
    }

    @Test
    void awaitEndsWithTheLastOfItsKeysInWhateverOrderTheyComeAndGo() {
        submit(new StoreCommand.Await(List.of("a", "b", "c"), 1000));
        submit(new StoreCommand.Set("c", bytes("3")));
        submit(new StoreCommand.Set("a", bytes("1")));
        submit(new StoreCommand.Delete("c"));
        submit(new StoreCommand.Add("b", 2));
        assertThat(replies).as("c is gone again").hasSize(4);
        submit(new StoreCommand.CompareAndSet("c", Optional.empty(), bytes("3")));
        assertThat(replies).hasSize(6);
        assertThat(replies.getLast().id()).isZero();
        assertThat(replies.getLast().error()).isEmpty();
    }

    @Test
    void anAnsweredRequestGetsNoSecondAnswerAtItsDeadline() {
        submit(new StoreCommand.Get("k", 10));
        submit(new StoreCommand.Set("k", bytes("v")));
        submit(new StoreCommand.Delete("k"));
        submit(new StoreCommand.Get("k", 10));
        nanos.addAndGet(10_000_000);
        table.expire();
        submit(new StoreCommand.Set("k", bytes("late")));
        assertThat(replies)
                .extracting(StoreReply::error)
                .filteredOn(error -> !error.isEmpty())
                .hasSize(1);
        assertThat(replies).hasSize(5);
    }

    /** If each key or tick checked all waiting commands, this test would take many minutes. */
    @Test
    @Timeout(60)
    void manyRanksMeetByKeys() {
        int ranks = 100_000;
        for (int rank = 0; rank < ranks; rank++) {
            submit(new StoreCommand.Await(List.of("a-" + rank, "b-" + rank), 1000));
        }
        assertThat(replies).isEmpty();
        for (int rank = 0; rank < ranks; rank++) {
            submit(new StoreCommand.Set("b-" + rank, Bytes.EMPTY));
            submit(new StoreCommand.Set("a-" + rank, Bytes.EMPTY));
            table.expire();
        }
        assertThat(replies).hasSize(3 * ranks);
    }
}
