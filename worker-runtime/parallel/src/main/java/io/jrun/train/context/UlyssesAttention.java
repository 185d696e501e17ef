package io.jrun.train.context;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.layer.AttentionOperation;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.tensor.TensorCollectives;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Attention in which each rank gets whole sequences of some heads: an all-to-all before and one after (Jacobs et al.
 * 2023). The ranks have contiguous parts of the sequence.
 */
final class UlyssesAttention implements AttentionOperation {
    private final int ranks;
    private final TensorCollectives collectives;
    private final AutogradFunction toHeads = new Exchange(true);
    private final AutogradFunction toSequence = new Exchange(false);

    UlyssesAttention(MeshAxis axis) {
        ranks = axis.size();
        collectives = new TensorCollectives(axis.group());
    }

    @Override
    public Tensor apply(Tensor q_BHSE, Tensor k_BGSE, Tensor v_BGSE, boolean isCausal) {
        requireDivides(q_BHSE.size(1), "query heads");
        requireDivides(k_BGSE.size(1), "key heads");
        Tensor output = AttentionOperation.LOCAL.apply(
                apply(toHeads, q_BHSE), apply(toHeads, k_BGSE), apply(toHeads, v_BGSE), isCausal);
        return apply(toSequence, output);
    }

    private void requireDivides(long heads, String what) {
        if (heads % ranks != 0) {
            throw new IllegalArgumentException(heads + " " + what + " cannot be shared by " + ranks
                    + " context parallel ranks in equal parts. Choose ring attention, or another number of ranks.");
        }
    }

    private static Tensor apply(AutogradFunction function, Tensor x) {
        return AutogradBridge.instance().apply(function, List.of(x)).getFirst();
    }

    /** [B, H, s, E] as [B, h, S, E]: a part of the sequence for a part of the heads. */
    private Tensor sequences(Tensor x) {
        long heads = x.size(1) / ranks;
        Tensor byRank = x.reshape(x.size(0), ranks, heads, x.size(2), x.size(3)).transpose(0, 1);
        return exchange(byRank).permute(1, 2, 0, 3, 4).flatten(2, 3);
    }

    /** [B, h, S, E] as [B, H, s, E]. */
    private Tensor heads(Tensor x) {
        long length = x.size(2) / ranks;
        Tensor byRank =
                x.reshape(x.size(0), x.size(1), ranks, length, x.size(3)).permute(2, 0, 1, 3, 4);
        return exchange(byRank).transpose(0, 1).flatten(1, 2);
    }

    private Tensor exchange(Tensor byRank) {
        Tensor outgoing = byRank.contiguous();
        Tensor incoming = torch.empty_like(outgoing);
        collectives.allToAll(outgoing, incoming);
        return incoming;
    }

    private final class Exchange implements AutogradFunction {
        private final boolean isToHeads;

        Exchange(boolean isToHeads) {
            this.isToHeads = isToHeads;
        }

        @Override
        public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
            return List.of(move(inputs.getFirst(), isToHeads));
        }

        @Override
        public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
            return Arrays.asList(move(Objects.requireNonNull(gradients.getFirst()), !isToHeads));
        }

        private Tensor move(Tensor x, boolean isForward) {
            return isForward ? sequences(x) : heads(x);
        }
    }
}
