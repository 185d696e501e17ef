package io.jrun.train.tensorparallel;

import io.jrun.comm.ReduceOp;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.mesh.ShardRange;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.BinaryOperator;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Cross entropy of logits of which each rank has those of some tokens. The logits stay where they are: the ranks
 * exchange three numbers for each position, the largest logit, the sum of the exponentials and the logit of the target.
 * Computes in float32 or float64. Source: Shoeybi et al. 2019, section 3.
 */
final class VocabularyCrossEntropy implements BinaryOperator<Tensor>, AutogradFunction {
    private final SequenceCollectives collectives;
    private final ShardRange tokens;

    /** Losses of logits of the tokens of a range on this rank. */
    VocabularyCrossEntropy(SequenceCollectives collectives, ShardRange tokens) {
        this.collectives = collectives;
        this.tokens = tokens;
    }

    /** Losses [N] of logits [N, v] and targets [N]; 0 for a target {@link TokenLoss#IGNORED}. */
    @Override
    public Tensor apply(Tensor logits_Nv, Tensor targets_N) {
        if (logits_Nv.size(1) != tokens.length()) {
            throw new IllegalArgumentException("a loss of the style VOCABULARY got logits of " + logits_Nv.size(1)
                    + " tokens, but this rank has " + tokens.length()
                    + " tokens. Give the layer of logits the style VOCABULARY too, or the loss no style.");
        }
        Tensor wide = logits_Nv.element_size() < Float.BYTES ? logits_Nv.to(torch.ScalarType.Float) : logits_Nv;
        return AutogradBridge.instance().apply(this, List.of(wide, targets_N)).getFirst();
    }

    @Override
    public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
        Tensor logits = inputs.get(0);
        Tensor targets = inputs.get(1);
        Tensor largest = collectives.allReduceInPlace(logits.amax(new long[] {1}, false), ReduceOp.MAX);
        Tensor shifted = logits.sub(largest.unsqueeze(1));
        Tensor local = targets.sub(new Scalar(tokens.offset()));
        Tensor isForeign = local.lt(new Scalar(0L)).logical_or(local.ge(new Scalar(tokens.length())));
        Tensor index_N1 = local.masked_fill(isForeign, new Scalar(0L)).unsqueeze(1);
        Tensor wanted = shifted.gather(1, index_N1).squeeze(1).masked_fill(isForeign, new Scalar(0.0));
        Tensor exponentials = shifted.exp_();
        Tensor sums = collectives.allReduceInPlace(
                torch.stack(new TensorVector(exponentials.sum(1), wanted), 0), ReduceOp.SUM);
        Tensor counts = targets.ne(new Scalar(TokenLoss.IGNORED))
                .to(logits.scalar_type().intern());
        context.save(exponentials.div_(sums.select(0, 0).unsqueeze(1)), index_N1, isForeign, counts);
        return List.of(sums.select(0, 0).log().sub(sums.select(0, 1)).mul(counts));
    }

    /** Softmax minus 1 at the target. */
    @Override
    public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
        Tensor perToken = Objects.requireNonNull(gradients.getFirst()).mul(context.saved(3));
        Tensor atTarget = perToken.neg().masked_fill(context.saved(2), new Scalar(0.0));
        Tensor gradient = context.saved(0).mul(perToken.unsqueeze(1));
        gradient.scatter_add_(1, context.saved(1), atTarget.unsqueeze(1));
        return Arrays.asList(gradient, null);
    }
}
