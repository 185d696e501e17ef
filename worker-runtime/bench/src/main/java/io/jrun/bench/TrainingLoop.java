package io.jrun.bench;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** One way to train {@link BenchGpt}, step by step. */
interface TrainingLoop extends AutoCloseable {
    /** SGD's learning rate in every mode. */
    double LEARNING_RATE = 0.05;

    /** Forward, backward and update on token ids and targets, both [B, S]. */
    void step(Tensor x_BS, Tensor y_BS);

    /** Mean cross entropy of the model's predictions. */
    static Tensor loss(BenchGpt model, Tensor x_BS, Tensor y_BS) {
        return torch.cross_entropy_loss(model.forward(x_BS).view(-1, BenchGpt.V), y_BS.view(-1));
    }

    @Override
    void close();
}
