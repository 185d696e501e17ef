package io.jrun.train.layer;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.precision.Autocast;
import io.jrun.train.tensor.AtenOperator;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The log-probability of the target of each token, by libtorch's kernels of the log-softmax, bit for bit. The kernels
 * run on pieces of the rows. So the forward pass makes one tensor of the size of the logits and the backward pass one
 * more, the gradient, in the type of the logits. libtorch's cross entropy makes two gradients in the wider type, and a
 * copy of the logits in it. Shapes: N tokens, V vocabulary.
 */
record TargetLogProbabilities(torch.ScalarType logitsType, torch.ScalarType type) implements AutogradFunction {
    private static final AtenOperator BACKWARD = AtenOperator.of("aten::_log_softmax_backward_data", "");

    private static final long PIECE_ELEMENTS = 1 << 22;
    /** A kernel of a GPU adds a row in an order that depends on the row's alignment to 16 bytes. Pieces keep it. */
    private static final long ROW_MULTIPLE = 8;

    /**
     * The log-probabilities [N, 1]; under autocast in float32.
     *
     * @param logits_NV of each token
     * @param targets_N1 of type Long, from 0 to V - 1
     */
    static Tensor of(Tensor logits_NV, Tensor targets_N1) {
        torch.ScalarType logitsType = logits_NV.scalar_type().intern();
        boolean isWidened = Autocast.isOnFor(logits_NV) && logits_NV.element_size() < Float.BYTES;
        return AutogradBridge.instance()
                .apply(
                        new TargetLogProbabilities(logitsType, isWidened ? torch.ScalarType.Float : logitsType),
                        List.of(logits_NV, targets_N1))
                .getFirst();
    }

    @Override
    public String name() {
        return "TargetLogProbabilities";
    }

    @Override
    public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
        Tensor logits_NV = inputs.get(0);
        Tensor targets_N1 = inputs.get(1);
        Tensor all_NV = emptyLike(logits_NV, type);
        forEachPiece(all_NV, (first, rows) -> {
            Tensor _ = torch.log_softmax_out(
                    all_NV.narrow(0, first, rows), logits_NV.narrow(0, first, rows), 1, new ScalarTypeOptional(type));
        });
        context.save(all_NV, targets_N1);
        return List.of(all_NV.gather(1, targets_N1));
    }

    @Override
    public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
        Tensor ofTargets_N1 = Objects.requireNonNull(gradients.getFirst());
        Tensor all_NV = context.saved(0);
        Tensor targets_N1 = context.saved(1);
        Tensor ofLogits_NV = emptyLike(all_NV, logitsType);
        forEachPiece(all_NV, (first, rows) -> {
            Tensor piece = all_NV.narrow(0, first, rows);
            Tensor ofPiece = torch.zeros_like(piece)
                    .scatter_(1, targets_N1.narrow(0, first, rows), ofTargets_N1.narrow(0, first, rows));
            List<Tensor> results = BACKWARD.results(
                    1,
                    AtenOperator.tensor(ofPiece),
                    AtenOperator.tensor(piece),
                    AtenOperator.integer(1),
                    AtenOperator.type(type));
            ofLogits_NV.narrow(0, first, rows).copy_(results.getFirst());
        });
        return Arrays.asList(ofLogits_NV, null);
    }

    private static Tensor emptyLike(Tensor tensor, torch.ScalarType type) {
        return torch.empty_like(tensor, new TensorOptions(type), new MemoryFormatOptional());
    }

    /** Calls {@code piece} with the first row and the number of rows of each piece of a tensor of rows. */
    private static void forEachPiece(Tensor all_NV, PieceConsumer piece) {
        long count = all_NV.size(0);
        long most = Math.max(1, PIECE_ELEMENTS / all_NV.size(1) / ROW_MULTIPLE) * ROW_MULTIPLE;
        for (long first = 0; first < count; first += most) {
            try (PointerScope _ = new PointerScope()) {
                piece.accept(first, Math.min(most, count - first));
            }
        }
    }

    /** The computation of a piece. */
    @FunctionalInterface
    private interface PieceConsumer {
        void accept(long first, long rows);
    }
}
