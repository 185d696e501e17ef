package io.jrun.bench;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.fsdp.CommunicationSpan;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.ParameterOptimizer;
import org.bytedeco.pytorch.Tensor;

/** Trains with jrun's FSDP; each block is a unit. */
final class FsdpLoop implements TrainingLoop {
    private final FullyShardedDataParallel parallel;
    private final BenchGpt model;
    private final BenchPrecision precision;
    private final ParameterOptimizer optimizer;

    /** {@code model} has its first values. */
    FsdpLoop(BenchGpt model, ProcessGroup group, BenchOptimizer optimizer, BenchPrecision precision) {
        this.parallel = FullyShard.apply(model, new MeshAxis("shard", group));
        this.model = model;
        this.precision = precision;
        this.optimizer = optimizer.start(parallel.parameters(), parallel.gradientMemory());
    }

    /** The communication that the step waited for is spread over both passes; it is taken from the backward pass. */
    @Override
    public StepResult step(BenchData.Batch batch) {
        long begin = System.nanoTime();
        try (var step = parallel.step()) {
            Parameters.gradients(parallel.parameters().values()).forEach(Tensor::reset);
            Tensor loss = precision.loss(model, batch.x_BS(), batch.y_BS());
            long forwardEnd = System.nanoTime();
            step.backward(loss);
            long backwardEnd = System.nanoTime();
            optimizer.step();
            long exposed = parallel.spans().stream()
                    .filter(span -> span.launchedNanos() >= forwardEnd)
                    .mapToLong(CommunicationSpan::waitedNanos)
                    .sum();
            return StepResult.of(loss.item_float(), begin, forwardEnd, backwardEnd, exposed);
        }
    }

    @Override
    public void close() {
        optimizer.close();
    }
}
