package io.jrun.bench;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.ParameterOptimizer;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** Trains with jrun's DDP, as in the README. */
final class DdpLoop implements TrainingLoop {
    private final DistributedDataParallel<BenchGpt> model;
    private final BenchPrecision precision;
    private final ParameterOptimizer optimizer;

    DdpLoop(BenchGpt module, ProcessGroup group, BenchOptimizer optimizer, BenchPrecision precision) {
        this.model = new DistributedDataParallel<>(module, group);
        this.precision = precision;
        this.optimizer = optimizer.start(Parameters.of(module), model.gradientMemory());
    }

    @Override
    public StepResult step(BenchData.Batch batch) {
        try (var step = model.step()) {
            long begin = System.nanoTime();
            model.module().zero_grad(true);
            Tensor loss = precision.loss(model.module(), batch.x_BS(), batch.y_BS());
            long forwardEnd = System.nanoTime();
            step.backward(loss);
            long backwardEnd = System.nanoTime();
            optimizer.step();
            long exposed = model.lastReduction().exposedNanos();
            return StepResult.of(loss.item_float(), begin, forwardEnd, backwardEnd, exposed);
        }
    }

    @Override
    public List<Double> overlapPerBucket() {
        return model.report().overlapPerBucket();
    }

    @Override
    public void close() {
        optimizer.close();
        model.close();
    }
}
