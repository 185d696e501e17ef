package io.jrun.train.tensorparallel;

import io.jrun.train.layer.EmbeddingOperation;
import io.jrun.train.mesh.SameInputs;
import io.jrun.train.mesh.ShardRange;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * An embedding of which each rank has the rows of some tokens. The vectors of other ranks' tokens are zero before the
 * sum.
 */
final class VocabularyEmbedding implements EmbeddingOperation {
    private final ShardRange rows;
    private final ConjugateFunctions functions;
    private final ColumnLinear head;
    private final boolean isSequenceParallel;
    private final SameInputs check;
    private final Runnable beforeLogits;

    /** {@code beforeLogits} throws if the loss takes the logits of all tokens. */
    VocabularyEmbedding(
            ShardRange rows,
            ConjugateFunctions functions,
            ColumnLinear head,
            boolean isSequenceParallel,
            SameInputs check,
            Runnable beforeLogits) {
        this.rows = rows;
        this.functions = functions;
        this.head = head;
        this.isSequenceParallel = isSequenceParallel;
        this.check = check;
        this.beforeLogits = beforeLogits;
    }

    @Override
    public Tensor rows(Tensor weight, Tensor numbers) {
        check.require(numbers);
        Tensor local = numbers.sub(new Scalar(rows.offset()));
        Tensor isForeign = local.lt(new Scalar(0L)).logical_or(local.ge(new Scalar(rows.length())));
        Tensor vectors = torch.embedding(weight, local.masked_fill(isForeign, new Scalar(0L)))
                .masked_fill(isForeign.unsqueeze(-1), new Scalar(0.0));
        return isSequenceParallel ? functions.reduceScatter(vectors) : functions.reduce(vectors);
    }

    @Override
    public Tensor logits(Tensor weight, Tensor vectors) {
        beforeLogits.run();
        return head.logits(vectors, weight);
    }
}
