package io.jrun.train.tensorparallel;

import io.jrun.comm.ReduceOp;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.LinearOperation;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.tensorparallel.LinearGradients.LaterWeight;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A linear layer of which each rank has some of the inputs. The output is the sum over the ranks; with sequence
 * parallelism each rank gets its part of the sequence of the sum. Each rank has the whole bias, which is added once,
 * after the sum. A pipeline may put the gradients of weights off.
 */
final class RowLinear implements LinearOperation {
    private final SequenceCollectives collectives;
    private final ConjugateFunctions functions;
    private final boolean isSequenceParallel;

    RowLinear(MeshAxis axis, ConjugateFunctions functions, boolean isSequenceParallel) {
        this.collectives = new SequenceCollectives(axis);
        this.functions = functions;
        this.isSequenceParallel = isSequenceParallel;
    }

    @Override
    public List<Tensor> apply(Tensor x, List<? extends LinearLayer> layers) {
        List<Tensor> outputs = new ArrayList<>();
        for (LinearLayer layer : layers) {
            Tensor sum = AutogradBridge.instance()
                    .apply(new RowProduct(LaterWeight.of(layer)), List.of(x, layer.matrix()))
                    .getFirst();
            Tensor bias = layer.bias();
            outputs.add(bias == null ? sum : sum.add(isSequenceParallel ? functions.copy(bias) : bias));
        }
        return outputs;
    }

    /** The function of the autograd graph. */
    private final class RowProduct implements AutogradFunction {
        private final @Nullable LaterWeight later;

        RowProduct(@Nullable LaterWeight later) {
            this.later = later;
        }

        @Override
        public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
            context.save(inputs.toArray(Tensor[]::new));
            try (TensorOptional noBias = new TensorOptional()) {
                Tensor partial = torch.linear(inputs.get(0), inputs.get(1), noBias);
                return List.of(
                        isSequenceParallel
                                ? collectives.reduceScatter(partial)
                                : collectives.allReduceInPlace(partial, ReduceOp.SUM));
            }
        }

        @Override
        public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
            Tensor part = Objects.requireNonNull(gradients.getFirst());
            Tensor gradient = isSequenceParallel ? collectives.gather(part) : part;
            Tensor x = context.saved(0);
            Tensor matrix = context.saved(1);
            return Arrays.asList(
                    context.needsGradient(0)
                            ? LinearGradients.inputGradient(gradient, matrix)
                                    .to(x.scalar_type().intern())
                            : null,
                    context.needsGradient(1) ? LinearGradients.weightGradient(gradient, x, matrix, later) : null);
        }
    }
}
