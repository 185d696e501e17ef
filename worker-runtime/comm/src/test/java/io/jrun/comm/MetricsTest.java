package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The limits of a report, in a world without a launcher. */
class MetricsTest {
    @Test
    void valuesOutOfBoundsAreRefusedWithTheLimit() {
        LocalWorld.run(1, world -> {
            world.metrics().report(0, Map.of());
            world.metrics().report(Long.MAX_VALUE, Map.of("train/loss_1.a-b:c%@+", Double.NaN, "x".repeat(64), 1.0));
            assertRefused(world, -1, Map.of("loss", 1.0), "rank 0: metrics of step -1: a step is 0 or more");
            assertRefused(world, 1, names(65), "65 names; a report has at most 64");
            for (String name : new String[] {"", "a b", "é", "a\n", "x".repeat(65)}) {
                assertRefused(
                        world,
                        1,
                        Map.of(name, 1.0),
                        "the name '" + name + "' is not allowed; a name has 1 to 64 characters");
            }
        });
    }

    private static Map<String, Double> names(int count) {
        return IntStream.range(0, count)
                .boxed()
                .collect(Collectors.toMap(number -> "name" + number, (Function<Integer, Double>) Integer::doubleValue));
    }

    private static void assertRefused(World world, long step, Map<String, Double> values, String text) {
        assertThatThrownBy(() -> world.metrics().report(step, values))
                .isInstanceOfSatisfying(
                        CommException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.USAGE))
                .hasMessageContaining(text);
    }
}
