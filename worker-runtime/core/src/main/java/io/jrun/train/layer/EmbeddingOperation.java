package io.jrun.train.layer;

import io.jrun.train.autograd.DeferredLinear;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The computation of {@link TokenEmbedding}s. */
public interface EmbeddingOperation {
    /** Each rank alone. */
    EmbeddingOperation LOCAL = new EmbeddingOperation() {
        @Override
        public Tensor rows(Tensor weight, Tensor numbers) {
            return torch.embedding(weight, numbers);
        }

        @Override
        public Tensor logits(Tensor weight, Tensor vectors) {
            return DeferredLinear.linear(vectors, weight, null);
        }
    };

    /** The rows of numbers of type Long. */
    Tensor rows(Tensor weight, Tensor numbers);

    /** The product of each vector with each row. */
    Tensor logits(Tensor weight, Tensor vectors);
}
