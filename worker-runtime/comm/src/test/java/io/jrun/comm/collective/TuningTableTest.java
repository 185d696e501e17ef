package io.jrun.comm.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.backend.OpKind;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TuningTableTest {
    private static final TuningTable TABLE = TuningTable.parse("""
            # jrun tuning 1
            # operation ranks up-to-bytes algorithm
            allReduce 2 1000 direct

            allReduce   4 max    ring
            allReduce 2 100 recursive-doubling
            """, "test");

    private static Algorithm chosen(OpKind kind, long bytes, int size) {
        return AlgorithmSelector.BY_SIZE.withTable(TABLE).choose(kind, bytes, size, false);
    }

    @Test
    void aTableDecidesByOperationRanksAndBytes() {
        assertThat(chosen(OpKind.ALL_REDUCE, 100, 2)).isEqualTo(Algorithm.RECURSIVE_DOUBLING);
        assertThat(chosen(OpKind.ALL_REDUCE, 101, 3)).isEqualTo(Algorithm.DIRECT);
        assertThat(chosen(OpKind.ALL_REDUCE, 100, 5)).isEqualTo(Algorithm.RING);
    }

    @Test
    void theBuiltInLimitsHoldWhereATableSaysNothing() {
        assertThat(chosen(OpKind.ALL_REDUCE, 100_000, 3)).isEqualTo(Algorithm.HALVING_DOUBLING);
        assertThat(chosen(OpKind.BROADCAST, 100, 2)).isEqualTo(Algorithm.TREE);
    }

    @Test
    void aForcedAlgorithmIsStrongerThanATable() {
        AlgorithmSelector forced = AlgorithmSelector.of(Optional.of("ring")).withTable(TABLE);

        assertThat(forced.choose(OpKind.ALL_REDUCE, 100, 2, false)).isEqualTo(Algorithm.RING);
    }

    @Test
    void aTableIsReadAsItIsWritten() {
        assertThat(TABLE.rules()).hasSize(3);
        assertThat(TuningTable.parse(TABLE.render(), "rendered")).isEqualTo(TABLE);
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(
            delimiter = '|',
            value = {
                "allReduce 2 100            | line 2: 'allReduce 2 100' has 3 fields",
                "allReduse 2 100 ring       | line 2: unknown operation 'allReduse'",
                "allReduce 1 100 ring       | line 2: 1 ranks (expected 2 or more)",
                "allReduce two 100 ring     | line 2: ranks is 'two' (expected a number)",
                "allReduce 2 1k ring        | line 2: up-to-bytes is '1k' (expected a number)",
                "allReduce 2 100 rng        | line 2: unknown algorithm 'rng' (expected one of ring",
                "allReduce 2 100 chain      | line 2: allReduce has no algorithm 'chain' (expected one of ring"
            })
    void aBadLineIsAnErrorThatNamesIt(String line, String message) {
        assertThatThrownBy(() -> TuningTable.parse("# jrun tuning 1\n" + line, "/etc/table"))
                .hasMessageContaining("JRUN_TUNING: /etc/table, " + message);
    }

    @Test
    void aFileOfAnotherKindAndARuleGivenTwiceAreErrors() {
        assertThatThrownBy(() -> TuningTable.parse("{}", "/etc/table"))
                .hasMessageContaining("line 1: the text is not a tuning table");
        assertThatThrownBy(() ->
                        TuningTable.parse("# jrun tuning 1\nallReduce 2 9 ring\nallReduce 2 9 direct\n", "/etc/table"))
                .hasMessageContaining("there are two rules for 'allReduce 2 9 direct'");
    }
}
