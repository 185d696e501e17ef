package io.jrun.trainer;

import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.metrics.StepPhase;
import io.jrun.train.pipeline.ActionSpan;
import io.jrun.train.pipeline.PipelineReport;
import io.jrun.train.pipeline.schedule.ActionKind;
import java.time.Duration;
import java.util.function.DoubleSupplier;

/** Measures the steps of a pipeline on this rank. */
final class PipelineTimes {
    private long lastStepNanos;
    private long waitedNanos;

    /** Runs and measures a step. */
    double measure(DoubleSupplier step) {
        long begin = System.nanoTime();
        double loss = step.getAsDouble();
        lastStepNanos = System.nanoTime() - begin;
        return loss;
    }

    /**
     * Adds the last step to the metrics: the computations of this rank's stages, and the waits. The waits for other
     * stages and for the gradients of other copies are spread over the step; they count as one span at its end.
     */
    void record(PipelineReport report, StepMetrics metrics) {
        long waited = lastStepNanos;
        for (ActionSpan span : report.spans()) {
            boolean isForward = span.action().kind() == ActionKind.FORWARD;
            metrics.record(isForward ? StepPhase.FORWARD : StepPhase.BACKWARD, span.beginNanos(), span.endNanos(), 0);
            waited -= span.nanos();
        }
        long end = System.nanoTime();
        metrics.record(StepPhase.EXPOSED_COMMUNICATION, end - waited, end, report.bytesSent());
        waitedNanos += waited;
    }

    /** The waits of all recorded steps. */
    Duration waited() {
        return Duration.ofNanos(waitedNanos);
    }
}
