package io.jrun.bench;

import io.jrun.comm.World;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterOptimizer;
import io.jrun.train.pipeline.ActionSpan;
import io.jrun.train.pipeline.MicroBatches;
import io.jrun.train.pipeline.PipelineOptions;
import io.jrun.train.pipeline.PipelineParallel;
import io.jrun.train.pipeline.PipelineReport;
import io.jrun.train.pipeline.schedule.ActionKind;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.precision.Autocast;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/** Trains one model over all ranks as a pipeline: 1F1B, 8 micro-batches of the sequences of all ranks. */
final class PipelineLoop implements TrainingLoop {
    private static final int MICRO_BATCHES = 8;

    private final PipelineParallel model;
    private final ParameterOptimizer optimizer;

    PipelineLoop(BenchGpt module, World world, BenchOptimizer optimizer, BenchPrecision precision) {
        PipelineOptions options =
                PipelineOptions.of(ScheduleKind.ONE_FORWARD_ONE_BACKWARD, world.size(), 1, MICRO_BATCHES);
        this.model = new PipelineParallel(
                module.layers(),
                BenchPrecision::crossEntropy,
                new MeshAxis("pp", world.group()),
                precision == BenchPrecision.bf16 ? options.withAutocast(Autocast::cpuBfloat16) : options);
        this.optimizer = optimizer.start(model.parameters(), PaddedGradients.NONE);
    }

    @Override
    public StepResult step(BenchData.Batch batch) {
        try (PointerScope _ = new PointerScope()) {
            Parameters.gradients(model.parameters().values()).forEach(Tensor::zero_);
            double loss = model.step(
                    MicroBatches.split(batch.x_BS(), MICRO_BATCHES), MicroBatches.split(batch.y_BS(), MICRO_BATCHES));
            long begin = System.nanoTime();
            optimizer.step();
            PipelineReport report = model.report();
            long forward = report.spans().stream()
                    .filter(span -> span.action().kind() == ActionKind.FORWARD)
                    .mapToLong(ActionSpan::nanos)
                    .sum();
            long busy = report.spans().stream().mapToLong(ActionSpan::nanos).sum();
            return new StepResult((float) loss, forward, busy - forward, report.idleNanos(), System.nanoTime() - begin);
        }
    }

    @Override
    public void close() {
        optimizer.close();
        model.close();
    }
}
