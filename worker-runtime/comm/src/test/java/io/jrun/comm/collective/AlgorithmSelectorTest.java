package io.jrun.comm.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.backend.OpKind;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class AlgorithmSelectorTest {
    private static AlgorithmSelector forced(String name) {
        return AlgorithmSelector.of(Optional.of(name));
    }

    @ParameterizedTest
    @EnumSource(OpKind.class)
    void everyChoiceIsACandidate(OpKind kind) {
        for (long bytes : new long[] {0, 1, AlgorithmSelector.SMALL_BYTES, AlgorithmSelector.LARGE_BYTES, 1L << 40}) {
            for (int size : new int[] {2, 3, 64, 4096}) {
                assertThat(AlgorithmSelector.candidates(kind))
                        .contains(AlgorithmSelector.BY_SIZE.choose(kind, bytes, size, false));
            }
        }
    }

    @ParameterizedTest(name = "{0} of {1} bytes among {2}: {3}")
    @CsvSource({
        "ALL_REDUCE, 1048576, 3, RING",
        "ALL_REDUCE, 1048576, 4, HALVING_DOUBLING",
        "ALL_REDUCE, 8388608, 4, RING",
        "REDUCE, 262144, 4, TREE",
        "REDUCE, 262145, 2, TREE",
        "REDUCE, 262145, 4, DIRECT",
        "REDUCE, 262145, 17, RING",
        "REDUCE_SCATTER, 1048576, 4, DIRECT",
        "REDUCE_SCATTER, 1048577, 4, RING",
        "ALL_GATHER, 262144, 16, DIRECT",
        "ALL_GATHER, 262145, 16, RING",
        "ALL_GATHER, 4, 17, RING",
        "BROADCAST, 8192, 4, TREE",
        "BROADCAST, 16384, 4, CHAIN",
        "BROADCAST, 16384, 5, TREE"
    })
    void sizesAndRanksDecide(OpKind kind, long bytes, int size, Algorithm expected) {
        assertThat(AlgorithmSelector.BY_SIZE.choose(kind, bytes, size, false)).isEqualTo(expected);
    }

    @Test
    void aSettingAppliesWhereTheOperationHasTheAlgorithm() {
        assertThat(forced("ring").choose(OpKind.ALL_REDUCE, 4, 2, false)).isEqualTo(Algorithm.RING);
        assertThat(forced("ring").choose(OpKind.BROADCAST, 4, 2, false)).isEqualTo(Algorithm.TREE);
        assertThat(forced("").choose(OpKind.ALL_REDUCE, 4, 2, false)).isEqualTo(Algorithm.RECURSIVE_DOUBLING);
    }

    @Test
    void deterministicReductionsAreDirectWhateverTheSetting() {
        assertThat(forced("ring").choose(OpKind.ALL_REDUCE, 1L << 30, 8, true)).isEqualTo(Algorithm.DIRECT);
        assertThat(forced("ring").choose(OpKind.ALL_GATHER, 1L << 30, 8, true)).isEqualTo(Algorithm.RING);
    }

    @Test
    void anUnknownNameIsAnErrorThatListsTheNames() {
        assertThatThrownBy(() -> forced("rng"))
                .hasMessageContaining("JRUN_ALGORITHM: unknown algorithm 'rng'")
                .hasMessageContaining("ring, halving-doubling");
    }

    @Test
    void chunksCoverABufferBeyondTwoGigabytesWithoutGaps() {
        Chunks chunks = new Chunks((3L << 30) + 5, 7, 8);
        for (int index = 0; index < 6; index++) {
            assertThat(chunks.offset(index + 1)).isEqualTo(chunks.offset(index) + chunks.length(index));
            assertThat(chunks.length(index)).isLessThanOrEqualTo(chunks.longest());
        }
        assertThat(chunks.offset(6) + chunks.length(6)).isEqualTo(((3L << 30) + 5) * 8);
    }
}
