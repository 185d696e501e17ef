package io.jrun.train.tensorparallel;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.LinearOperation;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.SameInputs;
import io.jrun.train.tensorparallel.LinearGradients.LaterWeight;
import io.jrun.train.tensorparallel.SequenceCollectives.Pending;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Linear layers of which each rank has some of the outputs. All ranks have the same input; with sequence parallelism
 * each rank has a part of the sequence, and the parts are gathered. In the backward pass the sum of the input's
 * gradients travels while the gradients of the weights are computed. With sequence parallelism the part of the input
 * alone is kept between the passes. A pipeline may put the gradients of weights off.
 */
final class ColumnLinear implements LinearOperation {
    private final SequenceCollectives collectives;
    private final boolean isSequenceParallel;
    private final SameInputs check;
    /** Whether the layers outside of all blocks are shared too, one of which divides the sequence. */
    private boolean isModelDone;

    ColumnLinear(MeshAxis axis, boolean isSequenceParallel) {
        this.collectives = new SequenceCollectives(axis);
        this.isSequenceParallel = isSequenceParallel;
        this.check = new SameInputs(axis);
    }

    void modelDone() {
        isModelDone = true;
    }

    @Override
    public List<Tensor> apply(Tensor x, List<? extends LinearLayer> layers) {
        List<Tensor> matrices = new ArrayList<>();
        List<@Nullable LaterWeight> later = new ArrayList<>();
        layers.forEach(layer -> {
            matrices.add(layer.matrix());
            later.add(LaterWeight.of(layer));
        });
        List<Tensor> outputs = outputs(x, matrices, later);
        List<Tensor> results = new ArrayList<>();
        for (int i = 0; i < outputs.size(); i++) {
            Tensor bias = layers.get(i).bias();
            results.add(bias == null ? outputs.get(i) : outputs.get(i).add(bias));
        }
        return results;
    }

    /** The output for the matrix of an embedding: the logits of this rank's tokens. */
    Tensor logits(Tensor x, Tensor weight) {
        return outputs(x, List.of(weight), Collections.singletonList(LaterWeight.of(weight, false)))
                .getFirst();
    }

    private List<Tensor> outputs(Tensor x, List<Tensor> matrices, List<@Nullable LaterWeight> later) {
        if (isSequenceParallel && !isModelDone) {
            throw new IllegalStateException("TensorParallel with sequence parallelism was applied to blocks, but not to"
                    + " their model: no layer divides the sequence. Call apply(model) after the last block.");
        }
        if (!isSequenceParallel) {
            check.require(x);
        }
        List<Tensor> inputs = new ArrayList<>(List.of(x));
        inputs.addAll(matrices);
        return AutogradBridge.instance().apply(new ColumnProduct(later), inputs);
    }

    /** The function of the autograd graph for layers with the same input. */
    private final class ColumnProduct implements AutogradFunction {
        private final List<@Nullable LaterWeight> later;

        ColumnProduct(List<@Nullable LaterWeight> later) {
            this.later = later;
        }

        @Override
        public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
            context.save(inputs.toArray(Tensor[]::new));
            Tensor x = isSequenceParallel ? collectives.gather(inputs.getFirst()) : inputs.getFirst();
            try (TensorOptional noBias = new TensorOptional()) {
                return inputs.stream()
                        .skip(1)
                        .map(matrix -> torch.linear(x, matrix, noBias))
                        .toList();
            }
        }

        @Override
        public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
            Tensor x = context.saved(0);
            @Nullable Pending gather = isSequenceParallel ? collectives.beginGather(x) : null;
            @Nullable Pending sum = context.needsGradient(0) ? beginSum(inputGradient(context, gradients)) : null;
            Tensor whole = gather == null ? x : collectives.endGather(gather);
            List<@Nullable Tensor> results = new ArrayList<>();
            results.add(null);
            for (int i = 0; i < gradients.size(); i++) {
                Tensor gradient = gradients.get(i);
                results.add(
                        gradient == null || !context.needsGradient(1 + i)
                                ? null
                                : LinearGradients.weightGradient(gradient, whole, context.saved(1 + i), later.get(i)));
            }
            if (sum != null) {
                results.set(0, sum.result().to(x.scalar_type().intern()));
            }
            return results;
        }
    }

    private Pending beginSum(Tensor gradient) {
        return isSequenceParallel ? collectives.beginReduceScatter(gradient) : collectives.beginAllReduce(gradient);
    }

    private static Tensor inputGradient(FunctionContext context, List<@Nullable Tensor> gradients) {
        Tensor sum = null;
        for (int i = 0; i < gradients.size(); i++) {
            Tensor gradient = gradients.get(i);
            if (gradient != null) {
                Tensor product = LinearGradients.inputGradient(gradient, context.saved(1 + i));
                sum = sum == null ? product : sum.add_(product);
            }
        }
        if (sum == null) {
            throw new IllegalStateException("no output of a column parallel layer has a gradient");
        }
        return sum;
    }
}
