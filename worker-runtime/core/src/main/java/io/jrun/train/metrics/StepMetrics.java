package io.jrun.train.metrics;

import io.jrun.comm.Metrics;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * Measures the steps of one rank. Each phase is a span; the spans between two reports give the seconds of each phase.
 *
 * <pre>{@code
 * metrics.begin(step);
 * try (var phase = metrics.phase(StepPhase.DATA)) { ... }
 * try (var phase = metrics.phase(StepPhase.FORWARD)) { ... }
 * ...
 * metrics.end(tokens);
 * metrics.report(Map.of("loss", loss));
 * }</pre>
 *
 * <p>Confined to the training thread; {@link #spans} is thread-safe.
 */
public final class StepMetrics {
    /** About a thousand steps. */
    private static final int RING = 8192;

    private static final double NANOS = 1e9;

    /** The name of the span of a whole step. */
    private static final String STEP = "step";

    private final SpanRing spans = new SpanRing(RING);
    private final EnumMap<StepPhase, Long> nanosSinceReport = new EnumMap<>(StepPhase.class);
    private final BiConsumer<Long, Map<String, Double>> reports;
    private final SpanListener timeline;
    private final long totalSteps;
    private long step;
    private long stepsSinceReport;
    private long tokensSinceReport;
    private long reportedNanos = System.nanoTime();
    private long beganNanos = reportedNanos;

    /**
     * Metrics of a training. The training begins with this call.
     *
     * @param totalSteps the number of the last step, 0 if the number is not known; a reader of the metrics computes the
     *     remaining time from the number
     * @param reports takes a step and its values, such as {@code world.metrics()::report}
     */
    public StepMetrics(long totalSteps, BiConsumer<Long, Map<String, Double>> reports) {
        this(totalSteps, reports, (_, _, _, _, _) -> {});
    }

    /**
     * Metrics of a training that a world reports. The spans of the steps and their phases are in the timeline of this
     * rank too.
     *
     * @param totalSteps as in the other constructor
     * @param metrics the metrics of the world
     */
    public StepMetrics(long totalSteps, Metrics metrics) {
        this(totalSteps, metrics::report, metrics::span);
    }

    private StepMetrics(long totalSteps, BiConsumer<Long, Map<String, Double>> reports, SpanListener timeline) {
        this.totalSteps = totalSteps;
        this.reports = reports;
        this.timeline = timeline;
    }

    /** Takes a span, as {@link Metrics#span}. */
    @FunctionalInterface
    private interface SpanListener {
        void span(String name, long step, long beginNanos, long endNanos, long bytes);
    }

    /** A phase. The method {@code close} ends the phase. */
    public final class OpenPhase implements AutoCloseable {
        private final StepPhase phase;
        private final long beginNanos = System.nanoTime();

        private OpenPhase(StepPhase phase) {
            this.phase = phase;
        }

        @Override
        public void close() {
            record(phase, beginNanos, System.nanoTime(), 0);
        }
    }

    /** Begins a step. */
    public void begin(long number) {
        step = number;
        beganNanos = System.nanoTime();
    }

    /** Begins a phase. */
    public OpenPhase phase(StepPhase phase) {
        return new OpenPhase(phase);
    }

    /** Records a phase whose times are known. */
    public void record(StepPhase phase, long beginNanos, long endNanos, long bytes) {
        spans.add(new PhaseSpan(phase.label(), step, beginNanos, endNanos, bytes));
        timeline.span(phase.label(), step, beginNanos, endNanos, bytes);
        nanosSinceReport.merge(phase, endNanos - beginNanos, Long::sum);
    }

    /**
     * Records {@link StepPhase#EXPOSED_COMMUNICATION}. The time is subtracted from {@link StepPhase#BACKWARD}, because
     * the recorded backward pass has waited for the communication.
     */
    public void recordWaitOfBackward(long beginNanos, long endNanos, long bytes) {
        recordWaitOfPasses(beginNanos, endNanos, bytes, 0, endNanos - beginNanos);
    }

    /**
     * As {@link #recordWaitOfBackward}, for communication in both passes and after them.
     *
     * @param forwardNanos the part of the time for which the forward pass has waited; the time is subtracted from
     *     {@link StepPhase#FORWARD}
     * @param backwardNanos the same for the backward pass
     */
    public void recordWaitOfPasses(long beginNanos, long endNanos, long bytes, long forwardNanos, long backwardNanos) {
        record(StepPhase.EXPOSED_COMMUNICATION, beginNanos, endNanos, bytes);
        nanosSinceReport.merge(StepPhase.FORWARD, -forwardNanos, Long::sum);
        nanosSinceReport.merge(StepPhase.BACKWARD, -backwardNanos, Long::sum);
    }

    /** Ends a step. The step has trained on {@code tokens} tokens of all ranks. */
    public void end(long tokens) {
        timeline.span(STEP, step, beganNanos, System.nanoTime(), 0);
        stepsSinceReport++;
        tokensSinceReport += tokens;
    }

    /** The latest spans. */
    public SpanRing spans() {
        return spans;
    }

    /**
     * Reports the steps since the last report: {@code values}, and {@code step_seconds}, {@code PHASE_seconds} of each
     * phase (means over the steps), {@code tokens_per_second} and {@code planned_steps}.
     *
     * @return the reported values
     */
    public Map<String, Double> report(Map<String, Double> values) {
        return report(values, _ -> {});
    }

    /**
     * Like {@link #report(Map)}.
     *
     * @param derive adds values that follow from other values, such as MFU from tokens a second
     */
    public Map<String, Double> report(Map<String, Double> values, Consumer<Map<String, Double>> derive) {
        long now = System.nanoTime();
        double seconds = (now - reportedNanos) / NANOS;
        Map<String, Double> all = new LinkedHashMap<>(values);
        if (stepsSinceReport > 0) {
            all.put("step_seconds", seconds / stepsSinceReport);
            nanosSinceReport.forEach(
                    (phase, nanos) -> all.put(phase.label() + "_seconds", nanos / NANOS / stepsSinceReport));
            all.put("tokens_per_second", tokensSinceReport / seconds);
        }
        if (totalSteps > 0) {
            all.put("planned_steps", (double) totalSteps);
        }
        derive.accept(all);
        reports.accept(step, all);
        reportedNanos = now;
        nanosSinceReport.clear();
        stepsSinceReport = 0;
        tokensSinceReport = 0;
        return all;
    }
}
