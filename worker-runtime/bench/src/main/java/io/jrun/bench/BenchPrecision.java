package io.jrun.bench;

import io.jrun.train.precision.Autocast;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The type of the forward pass. The names are the values of {@code --precision}. */
enum BenchPrecision {
    f32,
    /** Autocast; attention in float32. */
    bf16;

    /** The mean cross entropy of the model's predictions of y from x, both [B, S]. */
    Tensor loss(BenchGpt model, Tensor x_BS, Tensor y_BS) {
        if (this == f32) {
            return crossEntropy(model.forward(x_BS), y_BS);
        }
        try (Autocast _ = Autocast.cpuBfloat16()) {
            return crossEntropy(model.forward(x_BS), y_BS);
        }
    }

    static Tensor crossEntropy(Tensor logits_BSV, Tensor y_BS) {
        return torch.cross_entropy_loss(logits_BSV.view(-1, BenchGpt.V), y_BS.reshape(-1));
    }
}
