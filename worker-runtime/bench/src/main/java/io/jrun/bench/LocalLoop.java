package io.jrun.bench;

import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterOptimizer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/** Trains each rank alone, without communication. */
final class LocalLoop implements TrainingLoop {
    private final BenchGpt model;
    private final BenchPrecision precision;
    private final ParameterOptimizer optimizer;

    LocalLoop(BenchGpt model, BenchOptimizer optimizer, BenchPrecision precision) {
        this.model = model;
        this.precision = precision;
        this.optimizer = optimizer.start(Parameters.of(model), PaddedGradients.NONE);
    }

    @Override
    public StepResult step(BenchData.Batch batch) {
        try (PointerScope _ = new PointerScope()) {
            long begin = System.nanoTime();
            model.zero_grad(true);
            Tensor loss = precision.loss(model, batch.x_BS(), batch.y_BS());
            long forwardEnd = System.nanoTime();
            loss.backward();
            long backwardEnd = System.nanoTime();
            optimizer.step();
            return StepResult.of(loss.item_float(), begin, forwardEnd, backwardEnd, 0);
        }
    }

    @Override
    public void close() {
        optimizer.close();
    }
}
