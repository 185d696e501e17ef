package io.jrun.comm.record;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.RankLag;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RankRecordTest {
    private static final long SECOND = 1_000_000_000;

    private static OperationRecord operation(
            String group, long sequence, String name, int peer, OperationState state, long startedAgo) {
        String call = name + " #" + sequence;
        return new OperationRecord(
                group, sequence, name, "f32", 9, call, peer, 0, state, startedAgo, startedAgo, -1, 1, 7);
    }

    private static RankRecord rank(long started, OperationRecord... operations) {
        RankLag lag =
                new RankLag(2, 3, Duration.ofNanos(4), Duration.ofNanos(5), Duration.ofNanos(6), Duration.ofNanos(7));
        List<GroupRecord> groups = List.of(
                new GroupRecord("world", List.of(0, 1, 2), started, started, 8, List.of(lag)),
                new GroupRecord("pair", List.of(1, 2), 5, 4, 0, List.of()));
        List<OperationRecord> all = List.of(operations);
        Optional<OperationRecord> blocked = all.stream()
                .filter(each -> each.state() == OperationState.STARTED)
                .findFirst();
        return new RankRecord(1, 3, "höst", 4, 5, 6, "why", groups, all, true, blocked, "\"main\" RUNNABLE");
    }

    private static RankRecord receiving() {
        return rank(
                4,
                operation("world", 3, "barrier", -1, OperationState.COMPLETED, 5 * SECOND),
                operation("pair", 0, "recv", 1, OperationState.STARTED, 3 * SECOND));
    }

    @Test
    void theBinaryFormIsReadBackAsItWas() throws IOException {
        for (RankRecord record : List.of(receiving(), RankRecord.unknown(3, "is stopped"))) {
            assertThat(RankRecord.decode(record.encoded())).isEqualTo(record);
        }
        List<GroupRecord> groups = receiving().groups();
        assertThat(RecordCodec.decodeGroups(RecordCodec.encodeGroups(groups))).isEqualTo(groups);
    }

    @Test
    void bytesThatAreNoRecordAreRefused() {
        byte[] whole = receiving().encoded();
        for (int length = 0; length < whole.length; length++) {
            byte[] part = Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> RankRecord.decode(part)).isInstanceOf(IOException.class);
        }
        assertThatThrownBy(() -> RankRecord.decode(Arrays.copyOf(whole, whole.length + 1)))
                .hasMessage("the record has 1 bytes too many");
        byte[] other = whole.clone();
        other[3]++;
        assertThatThrownBy(() -> RankRecord.decode(other)).hasMessageContaining("are not the bytes of this version");
        Random random = new Random(1);
        for (int i = 0; i < 2000; i++) {
            byte[] damaged = whole.clone();
            damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
            try {
                assertThat(RankRecord.decode(damaged).groups().size()).isLessThan(damaged.length);
            } catch (IOException e) {
                assertThat(e).hasMessageStartingWith("the ");
            }
        }
    }

    @Test
    void thePlaceIsTheLastOperationOfTheGroupAndWhatRuns() {
        assertThat(receiving().place("world"))
                .isEqualTo("has completed barrier #3 on group world and has entered no other operation of that group,"
                        + " and has been in recv #0 on group of ranks 1-2 for 3 s");
        assertThat(receiving().place("pair")).isEqualTo("has been in recv #0 on group of ranks 1-2 for 3 s");
        assertThat(receiving().place("other"))
                .isEqualTo(
                        "has entered no operation of group other, and has been in recv #0 on group of ranks 1-2 for 3 s");
        assertThat(rank(0, operation("world", 0, "barrier", -1, OperationState.QUEUED, -1))
                        .place("world"))
                .isEqualTo("has entered no operation of group world");
        assertThat(rank(9).place("world"))
                .isEqualTo(
                        "has completed operation #8 on group world and has entered no other operation of that group");
        assertThat(rank(2, operation("world", 2, "barrier", -1, OperationState.FAILED, 1))
                        .place("world"))
                .isEqualTo("has failed in barrier #2 on group world");
        assertThat(RankRecord.unknown(3, "is stopped").place("world")).isEqualTo("is stopped");
    }

    @Test
    void aBlockedMessageWaitsForItsPeerAndACollectiveForItsGroup() {
        assertThat(receiving().awaitedRanks()).containsExactly(2);
        assertThat(rank(2, operation("world", 2, "barrier", -1, OperationState.STARTED, 1))
                        .awaitedRanks())
                .containsExactly(0, 1, 2);
        assertThat(rank(2).awaitedRanks()).isEmpty();
    }
}
