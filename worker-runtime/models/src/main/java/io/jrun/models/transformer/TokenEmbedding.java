package io.jrun.models.transformer;

import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** One row of a matrix for each number. */
public final class TokenEmbedding extends Module {
    private final Tensor weight;

    /** An embedding of zeros [count, width]. */
    public TokenEmbedding(long count, long width) {
        weight = TensorMemory.own(register_parameter("weight", torch.zeros(count, width)));
    }

    /** The rows of numbers of type Long. */
    public Tensor forward(Tensor numbers) {
        return torch.embedding(weight, numbers);
    }

    /** Logits: the product of each vector with each row. A tied output layer. */
    public Tensor logits(Tensor vectors) {
        return torch.linear(vectors, weight);
    }

    /** The matrix. */
    public Tensor weight() {
        return weight;
    }
}
