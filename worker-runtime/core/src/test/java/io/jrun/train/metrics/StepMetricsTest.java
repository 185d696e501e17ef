package io.jrun.train.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class StepMetricsTest {
    private static final long SECOND = 1_000_000_000;

    private final Map<Long, Map<String, Double>> reports = new TreeMap<>();
    private final StepMetrics metrics = new StepMetrics(100, (step, values) -> reports.put(step, values));

    @Test
    void phasesAreMeansOverTheStepsSinceTheLastReport() {
        for (int step = 1; step <= 2; step++) {
            metrics.begin(step);
            metrics.record(StepPhase.FORWARD, 0, step * SECOND, 0);
            metrics.record(StepPhase.BACKWARD, 10 * SECOND, 15 * SECOND, 0);
            metrics.recordWaitOfBackward(13 * SECOND, 15 * SECOND, 4096);
            metrics.end(50);
        }
        Map<String, Double> first = metrics.report(Map.of("loss", 2.5));
        assertThat(reports).containsOnlyKeys(2L);
        assertThat(reports.get(2L)).isEqualTo(first);
        assertThat(first)
                .containsEntry("loss", 2.5)
                .containsEntry("planned_steps", 100.0)
                .containsEntry("forward_seconds", 1.5)
                .containsEntry("backward_seconds", 3.0)
                .containsEntry("exposed_communication_seconds", 2.0)
                .doesNotContainKey("data_seconds");
        assertThat(Objects.requireNonNull(first.get("tokens_per_second"))
                        * Objects.requireNonNull(first.get("step_seconds")))
                .isCloseTo(50, within(1e-6));
        metrics.begin(3);
        metrics.record(StepPhase.FORWARD, 0, 3 * SECOND, 0);
        metrics.record(StepPhase.BACKWARD, 3 * SECOND, 8 * SECOND, 0);
        metrics.recordWaitOfPasses(4 * SECOND, 8 * SECOND, 4096, SECOND, 3 * SECOND);
        metrics.end(50);
        assertThat(metrics.report(Map.of()))
                .containsEntry("forward_seconds", 2.0)
                .containsEntry("backward_seconds", 2.0)
                .containsEntry("exposed_communication_seconds", 4.0);
        metrics.begin(4);
        metrics.record(StepPhase.FORWARD, 0, SECOND, 0);
        metrics.record(StepPhase.EXPOSED_COMMUNICATION, SECOND, 2 * SECOND, 0);
        metrics.end(50);
        assertThat(metrics.report(Map.of()))
                .containsEntry("forward_seconds", 1.0)
                .doesNotContainKey("backward_seconds");
    }

    @Test
    void aPhaseIsASpanOfItsStep() {
        metrics.begin(7);
        long before = System.nanoTime();
        try (var _ = metrics.phase(StepPhase.DATA)) {
            assertThat(metrics.spans().spans()).isEmpty();
        }
        metrics.record(StepPhase.EXPOSED_COMMUNICATION, 5, 8, 64);
        assertThat(metrics.spans().spans())
                .satisfiesExactly(
                        data -> {
                            assertThat(data.name()).isEqualTo("data");
                            assertThat(data.step()).isEqualTo(7);
                            assertThat(data.beginNanos()).isGreaterThanOrEqualTo(before);
                            assertThat(data.nanos()).isGreaterThanOrEqualTo(0);
                        },
                        waiting -> assertThat(waiting).isEqualTo(new PhaseSpan("exposed_communication", 7, 5, 8, 64)));
    }

    @Test
    void aFullRingKeepsTheLatestSpans() {
        SpanRing ring = new SpanRing(3);
        for (int i = 0; i < 5; i++) {
            ring.add(new PhaseSpan("data", i, 0, 1, 0));
        }
        assertThat(ring.spans().stream().map(PhaseSpan::step)).containsExactly(2L, 3L, 4L);
        assertThatThrownBy(() -> new SpanRing(0)).hasMessageContaining("at least 1");
    }

    /**
     * PaLM 540B: 118 layers, width 18432, 48 heads of 256, 2048 tokens. The attention has 48 * 256 in place of the
     * width.
     */
    @Test
    void utilisationFollowsThePaperOfPalm() {
        ModelFlops flops = ModelFlops.palm(540_350_000_000L, 118, 48 * 256, 2048);
        assertThat(flops.perToken()).isEqualTo(6.0 * 540_350_000_000L + 12.0 * 118 * 12288 * 2048);
        assertThat(flops.formula()).isEqualTo("PaLM appendix B");
        double tokensPerSecond = 238_300;
        double peak = 6144 * 275e12;
        assertThat(flops.utilisation(tokensPerSecond, peak))
                .as("the paper has 46.2 %")
                .isCloseTo(0.462, within(5e-4));
    }
}
