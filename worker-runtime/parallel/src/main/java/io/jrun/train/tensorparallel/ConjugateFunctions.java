package io.jrun.train.tensorparallel;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.mesh.MeshAxis;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Pairs of functions between tensors that are equal on all tensor parallel ranks and tensors of which each rank holds a
 * part. The backward pass of each is the forward pass of its conjugate (Shoeybi et al. 2019, figure 3: f and g;
 * Korthikanti et al. 2022, figure 5). Sequences lie in dimension 1. All methods are collective.
 */
final class ConjugateFunctions {
    private final SequenceCollectives collectives;
    private final AutogradFunction copy;
    private final AutogradFunction reduce;
    private final AutogradFunction reduceScatter;

    ConjugateFunctions(MeshAxis axis) {
        collectives = new SequenceCollectives(axis);
        copy = new Pair("copyToRanks", x -> x, collectives::allReduce);
        reduce = new Pair("reduceFromRanks", collectives::allReduce, gradient -> gradient);
        reduceScatter = new Pair("reduceScatterSequence", collectives::reduceScatter, collectives::gather);
    }

    /** f: the tensor itself; the gradient is the sum of the ranks' gradients. */
    Tensor copy(Tensor x) {
        return apply(copy, x);
    }

    /** g: the sum of the ranks' tensors; the gradient goes to each rank. */
    Tensor reduce(Tensor x) {
        return apply(reduce, x);
    }

    /** The part of the sum of the ranks' tensors; the gradients of the parts are gathered. */
    Tensor reduceScatter(Tensor x) {
        return apply(reduceScatter, x);
    }

    /** All ranks' parts of the last dimension, of {@code size} elements; the gradient of a part is a part of the gradient. */
    Tensor gatherLast(Tensor part, long size) {
        return apply(new Pair("gatherLast", x -> collectives.gatherLast(x, size), collectives::sliceLast), part);
    }

    private static Tensor apply(AutogradFunction function, Tensor x) {
        return AutogradBridge.instance().apply(function, List.of(x)).getFirst();
    }

    private record Pair(String name, UnaryOperator<Tensor> forwardMap, UnaryOperator<Tensor> backwardMap)
            implements AutogradFunction {
        @Override
        public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
            return List.of(forwardMap.apply(inputs.getFirst()));
        }

        @Override
        public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
            return Arrays.asList(backwardMap.apply(Objects.requireNonNull(gradients.getFirst())));
        }
    }
}
