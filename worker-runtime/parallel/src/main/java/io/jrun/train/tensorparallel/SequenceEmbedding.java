package io.jrun.train.tensorparallel;

import io.jrun.train.layer.EmbeddingOperation;
import io.jrun.train.mesh.SameInputs;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * An embedding that all ranks hold and that each rank uses for its part of the sequence, such as one of positions. The
 * sequence is the last dimension of the numbers. The gradients are summed over the ranks.
 */
final class SequenceEmbedding implements EmbeddingOperation {
    private final SequenceCollectives collectives;
    private final ConjugateFunctions functions;
    private final SameInputs check;

    SequenceEmbedding(SequenceCollectives collectives, ConjugateFunctions functions, SameInputs check) {
        this.collectives = collectives;
        this.functions = functions;
        this.check = check;
    }

    @Override
    public Tensor rows(Tensor weight, Tensor numbers) {
        check.require(numbers);
        return torch.embedding(functions.copy(weight), collectives.slice(numbers, Math.toIntExact(numbers.dim() - 1)));
    }

    @Override
    public Tensor logits(Tensor weight, Tensor vectors) {
        throw new IllegalStateException("an embedding of the style SEQUENCE makes no logits. Use VOCABULARY.");
    }
}
