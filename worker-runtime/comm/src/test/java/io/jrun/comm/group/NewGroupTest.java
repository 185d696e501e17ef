package io.jrun.comm.group;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.local.LocalWorld;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Groups that only their own members make. */
class NewGroupTest {
    @Test
    void onlyTheMembersMakeTheGroupAndItsRanksFollowTheList() {
        LocalWorld.run(4, world -> {
            if (world.rank() == 1) {
                return; // This rank is not a member of the group.
            }
            for (int time = 0; time < 2; time++) {
                try (ProcessGroup group = world.newGroup(List.of(3, 0, 2))) {
                    assertThat(group.worldRank(0)).isEqualTo(3);
                    assertThat(group.worldRank(group.groupRank())).isEqualTo(world.rank());
                    long[] all = new long[3];
                    group.allGather(
                            MemorySegment.ofArray(new long[] {world.rank()}),
                            MemorySegment.ofArray(all),
                            DataType.I64,
                            1);
                    assertThat(all).containsExactly(3, 0, 2);
                }
            }
        });
    }

    @Test
    void wrongListsAreRefused() {
        LocalWorld.run(2, world -> {
            assertThatThrownBy(() -> world.newGroup(List.of(0, 2))).hasMessageContaining("expected ranks from 0 to 1");
            assertThatThrownBy(() -> world.newGroup(List.of(0, 1, 0))).hasMessageContaining("names a rank twice");
            assertThatThrownBy(() -> world.newGroup(List.of(1 - world.rank())))
                    .hasMessageContaining("lacks this rank, " + world.rank());
        });
    }

    @Test
    void longListsHaveShortNames() {
        List<Integer> even =
                IntStream.range(0, 200).map(rank -> 2 * rank).boxed().toList();
        assertThat(GroupName.of(List.of(0, 1, 2, 3, 7), 2)).isEqualTo("g0-3.7n2");
        assertThat(GroupName.of(even, 1)).hasSizeLessThan(30).isNotEqualTo(GroupName.of(even.reversed(), 1));
    }
}
