package io.jrun.train.layer;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.tensor.TensorCollectives;
import java.util.Objects;
import java.util.function.BinaryOperator;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** Cross entropy of the tokens of a batch. A token without a target ({@link #IGNORED}) does not count. */
public final class TokenLoss extends Module {
    /** The target of a token that does not count: torch's {@code ignore_index}. */
    public static final long IGNORED = -100;

    private static final long SUM = 2;

    private @Nullable BinaryOperator<Tensor> perToken;
    private @Nullable ProcessGroup tokenGroup;

    /**
     * The mean in nats over all tokens that count.
     *
     * @param logits [..., V]; a part of the V logits if the layer is parallel
     * @param targets of the shape of {@code logits} without the last dimension, of type Long
     */
    public Tensor mean(Tensor logits, Tensor targets) {
        Tensor rows = logits.reshape(-1, logits.size(-1));
        Tensor wanted = targets.reshape(-1);
        if (tokenGroup == null && perToken == null) {
            return torch.cross_entropy_loss(rows, wanted);
        }
        Tensor sum = perToken == null
                ? torch.cross_entropy_loss(rows, wanted, new TensorOptional(), SUM, IGNORED, 0)
                : perToken.apply(rows, wanted).sum();
        boolean isNarrow = sum.element_size() < Float.BYTES;
        Tensor scale = scale(wanted).to(isNarrow ? torch.ScalarType.Float : sum.scalar_type());
        return sum.mul(scale).to(sum.scalar_type());
    }

    /**
     * Equal to 1 / tokens on one rank. Else the mean of all ranks' losses is the mean over all tokens. On a GPU the host
     * does not wait for the number.
     */
    private Tensor scale(Tensor targets) {
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor count = targets.ne(new Scalar(IGNORED)).sum().to(torch.ScalarType.Double);
            ProcessGroup group = tokenGroup;
            if (group == null) {
                return torch.ones_like(count).div(count);
            }
            new TensorCollectives(group).allReduce(count, ReduceOp.SUM);
            return torch.full_like(count, new Scalar((double) group.size())).div(count);
        }
    }

    /** Replaces the computation: the losses [N] of logits [N, V] and targets [N], 0 for a token that does not count. */
    public void setPerToken(BinaryOperator<Tensor> newPerToken) {
        perToken = Objects.requireNonNull(newPerToken);
    }

    /**
     * Counts the tokens of all ranks of a group. The result is then scaled so that the mean over the ranks is the mean
     * over all tokens, also if ranks have different numbers of tokens that count. {@link #mean} becomes collective on
     * the group.
     *
     * @param group the ranks over which the gradients are averaged
     */
    public void countTokensOf(ProcessGroup group) {
        tokenGroup = group;
    }
}
