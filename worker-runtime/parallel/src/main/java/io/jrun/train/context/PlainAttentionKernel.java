package io.jrun.train.context;

import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Attention by products of whole matrices, on each device and of each type. Its memory grows with the square of the rows
 * of a block. Stateless.
 */
final class PlainAttentionKernel implements AttentionKernel {
    @Override
    public Result forward(Tensor queries, Tensor keys, Tensor values, boolean isCausal) {
        Tensor scores = scores(queries, keys, isCausal);
        Tensor logSums = torch.logsumexp(scores, -1);
        return new Result(probabilities(scores, logSums).matmul(values), logSums);
    }

    @Override
    public Gradients backward(
            Tensor gradient,
            Tensor queries,
            Tensor keys,
            Tensor values,
            Tensor output,
            Tensor logSums,
            boolean isCausal) {
        Tensor probabilities = probabilities(scores(queries, keys, isCausal), logSums);
        Tensor weighted = gradient.mul(output).sum(new long[] {-1}, true, new ScalarTypeOptional());
        Tensor ofScores = gradient.matmul(values.transpose(-2, -1))
                .sub(weighted)
                .mul(probabilities)
                .mul(new Scalar(scale(queries)));
        return new Gradients(
                ofScores.matmul(keys),
                ofScores.transpose(-2, -1).matmul(queries),
                probabilities.transpose(-2, -1).matmul(gradient));
    }

    private static double scale(Tensor queries) {
        return 1 / Math.sqrt((double) queries.size(3));
    }

    private static Tensor scores(Tensor queries, Tensor keys, boolean isCausal) {
        Tensor scores = queries.matmul(keys.transpose(-2, -1)).mul(new Scalar(scale(queries)));
        if (isCausal) {
            Tensor later = torch.ones(new long[] {queries.size(2), keys.size(2)}, queries.options())
                    .triu(1)
                    .to(torch.ScalarType.Bool);
            scores.masked_fill_(later, new Scalar(Double.NEGATIVE_INFINITY));
        }
        return scores;
    }

    private static Tensor probabilities(Tensor scores, Tensor logSums) {
        return scores.sub(logSums.unsqueeze(-1)).exp();
    }
}
