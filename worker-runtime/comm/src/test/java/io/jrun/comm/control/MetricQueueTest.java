package io.jrun.comm.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The kept metrics of a rank and the times of their sends. */
class MetricQueueTest {
    private static final long MILLIS = 1_000_000;

    private long nowNanos;
    private final MetricQueue queue = new MetricQueue(() -> nowNanos);

    @Test
    void newerValuesOfAStepReplaceAndAdd() {
        assertThat(queue.add(7, Map.of("loss", 3.0, "lr", 0.1))).isTrue();
        assertThat(queue.add(7, Map.of("loss", 2.0, "speed", 9.0))).isFalse();
        assertThat(queue.takeAll())
                .containsExactly(new Frame.Metrics(7, Map.of("loss", 2.0, "lr", 0.1, "speed", 9.0), 0));
    }

    @Test
    void theOldestStepsAreDroppedAndCounted() {
        for (int step = 0; step < 20; step++) {
            queue.add(step, Map.of("loss", 1.0));
        }
        List<Frame.Metrics> kept = queue.takeAll();
        assertThat(kept)
                .hasSize(16)
                .extracting(Frame.Metrics::step)
                .startsWith(4L)
                .endsWith(19L);
        assertThat(kept).extracting(Frame.Metrics::dropped).startsWith(4L, 0L).endsWith(0L);
    }

    @Test
    void aStepNeverHasMoreNamesThanAReport() {
        queue.add(1, names("a"));
        queue.add(1, names("b"));
        assertThat(queue.takeAll()).containsExactly(new Frame.Metrics(1, names("b"), 1));
    }

    private static Map<String, Double> names(String start) {
        Map<String, Double> values = new HashMap<>();
        for (int i = 0; i < 64; i++) {
            values.put(start + i, 1.0);
        }
        return values;
    }

    @Test
    void tenReportsASecondAreSentAndFewerInALargeJob() {
        assertThat(queue.nanosLeft()).isEqualTo(Long.MAX_VALUE);
        queue.add(1, Map.of("loss", 1.0));
        queue.add(2, Map.of("loss", 1.0));
        assertThat(queue.nanosLeft()).isEqualTo(100 * MILLIS);
        nowNanos += 100 * MILLIS;
        assertThat(queue.take()).isNotEmpty();
        assertThat(queue.nanosLeft()).isEqualTo(100 * MILLIS);
        nowNanos += 100 * MILLIS;
        assertThat(queue.nanosLeft()).isZero();
        queue.setWorldSize(4000);
        assertThat(queue.take()).isNotEmpty();
        queue.add(3, Map.of("loss", 1.0));
        assertThat(queue.nanosLeft()).isEqualTo(4000 * MILLIS);
        queue.takeAll();
        assertThat(queue.take()).isEmpty();
    }
}
