package io.jrun.bench;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;

/** Trains each rank alone, without communication. */
final class LocalLoop implements TrainingLoop {
    private final BenchGpt model;
    private final SGD optimizer;

    LocalLoop(BenchGpt model) {
        this.model = model;
        this.optimizer = new SGD(model.parameters(), new SGDOptions(LEARNING_RATE));
    }

    @Override
    public void step(Tensor x_BS, Tensor y_BS) {
        try (PointerScope _ = new PointerScope()) {
            optimizer.zero_grad();
            TrainingLoop.loss(model, x_BS, y_BS).backward();
            optimizer.step();
        }
    }

    @Override
    public void close() {
        optimizer.close();
    }
}
