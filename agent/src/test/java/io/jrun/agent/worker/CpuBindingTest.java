package io.jrun.agent.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.node.CpuMap;
import io.jrun.agent.proto.BindPolicy;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CpuBindingTest {
    /** Two domains of two cores with two threads each. */
    private static final CpuMap EIGHT =
            new CpuMap(List.of(List.of(List.of(0, 4), List.of(1, 5)), List.of(List.of(2, 6), List.of(3, 7))));

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        BIND_POLICY_CORE | 1 | 0,1,2,3,4,5,6,7
        BIND_POLICY_CORE | 2 | 0,1,4,5 2,3,6,7
        BIND_POLICY_CORE | 3 | 0,4 1,5 2,3,6,7
        BIND_POLICY_CORE | 4 | 0,4 1,5 2,6 3,7
        BIND_POLICY_CORE | 8 | 0,4 0,4 1,5 1,5 2,6 2,6 3,7 3,7
        BIND_POLICY_NUMA | 1 | 0,1,2,3,4,5,6,7
        BIND_POLICY_NUMA | 2 | 0,1,4,5 2,3,6,7
        BIND_POLICY_NUMA | 3 | 0,1,4,5 0,1,4,5 2,3,6,7
        """)
    void unitsAreDividedAmongWorkers(BindPolicy bindTo, int workers, String expected) {
        List<String> sets = IntStream.range(0, workers)
                .mapToObj(localRank -> CpuBinding.words(bindTo, localRank, workers, EIGHT))
                .map(List::getLast)
                .toList();
        assertThat(sets).containsExactly(expected.split(" "));
    }

    @Test
    void unboundWorkerHasNoWords() {
        assertThat(CpuBinding.words(BindPolicy.BIND_POLICY_NONE, 0, 2, EIGHT)).isEmpty();
        assertThat(CpuBinding.words(BindPolicy.BIND_POLICY_CORE, 0, 2, new CpuMap(List.of())))
                .isEmpty();
    }
}
