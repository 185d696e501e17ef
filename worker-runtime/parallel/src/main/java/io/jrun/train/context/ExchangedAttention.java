package io.jrun.train.context;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.context.SequenceSplit.Block;
import io.jrun.train.layer.AttentionOperation;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** Attention in which each rank keeps its queries, and the keys and values of all ranks come to each rank. */
final class ExchangedAttention implements AttentionOperation {
    private final SequenceSplit split;
    private final int self;
    private final KeyExchange exchange;

    ExchangedAttention(SequenceSplit split, int self, KeyExchange exchange) {
        this.split = split;
        this.self = self;
        this.exchange = exchange;
    }

    @Override
    public Tensor apply(Tensor q_BHSE, Tensor k_BGSE, Tensor v_BGSE, boolean isCausal) {
        Tensor keysValues = torch.stack(new TensorVector(k_BGSE, v_BGSE), 0);
        return AutogradBridge.instance()
                .apply(new Function(isCausal), List.of(q_BHSE, keysValues))
                .getFirst();
    }

    private final class Function implements AutogradFunction {
        private final boolean isCausal;

        Function(boolean isCausal) {
            this.isCausal = isCausal;
        }

        @Override
        public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
            Tensor queries = inputs.get(0);
            BlockAttention attention = BlockAttention.begin(queries);
            exchange.forEach(inputs.get(1), (owner, keysValues) -> attention.add(keysValues, blocks(owner, queries)));
            context.save(queries, inputs.get(1), attention.output(), attention.logSums());
            return List.of(attention.output().to(queries.scalar_type().intern()));
        }

        @Override
        public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
            Tensor queries = context.saved(0);
            BlockAttention attention = BlockAttention.ended(queries, context.saved(2), context.saved(3));
            Tensor given = Objects.requireNonNull(gradients.getFirst());
            Tensor gradient = attention.operand(given).contiguous();
            Tensor queriesGradient = attention.zerosLike(queries);
            Tensor keysValuesGradient = exchange.sumGradients(context.saved(1), (owner, keysValues) -> {
                Tensor part = attention.zerosLike(keysValues);
                attention.addGradients(gradient, keysValues, blocks(owner, queries), queriesGradient, part);
                return part;
            });
            return Arrays.asList(
                    queriesGradient.to(queries.scalar_type().intern()),
                    keysValuesGradient.to(context.saved(1).scalar_type().intern()));
        }

        private List<Block> blocks(int owner, Tensor queries) {
            return split.blocks(self, owner, queries.size(2), isCausal);
        }
    }
}
