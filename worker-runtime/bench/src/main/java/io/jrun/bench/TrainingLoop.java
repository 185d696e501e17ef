package io.jrun.bench;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** A mode that trains {@link BenchGpt} step by step. */
interface TrainingLoop extends AutoCloseable {
    /** The learning rate of SGD in every mode. */
    double LEARNING_RATE = 0.05;

    /** Runs forward, backward and update on token ids and targets, both [B, S]. */
    void step(Tensor x_BS, Tensor y_BS);

    /** Returns the mean cross entropy of the model's predictions. */
    static Tensor loss(BenchGpt model, Tensor x_BS, Tensor y_BS) {
        return torch.cross_entropy_loss(model.forward(x_BS).view(-1, BenchGpt.V), y_BS.view(-1));
    }

    @Override
    void close();
}
