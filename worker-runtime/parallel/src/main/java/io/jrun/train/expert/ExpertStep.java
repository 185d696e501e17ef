package io.jrun.train.expert;

import io.jrun.train.ddp.Step;
import org.bytedeco.pytorch.Tensor;

/** One training step of {@link ExpertDataParallel}, as {@link Step}. */
public record ExpertStep(Step shared, Step experts) implements AutoCloseable {
    /** Computes gradients, and returns when all gradients are those of the mean loss of the data ranks. */
    public void backward(Tensor loss) {
        shared.backward(loss);
    }

    @Override
    public void close() {
        try (shared) {
            experts.close();
        }
    }
}
