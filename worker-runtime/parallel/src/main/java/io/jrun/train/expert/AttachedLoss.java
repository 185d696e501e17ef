package io.jrun.train.expert;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Adds a loss of a layer to the loss of the model: a backward pass through the output is also a backward pass from the
 * layer's loss. A recomputed block or a stage of a pipeline has one output, so the layer cannot return its loss
 * (Megatron's {@code MoEAuxLossAutoScaler}).
 */
final class AttachedLoss implements AutogradFunction {
    private static final AttachedLoss FUNCTION = new AttachedLoss();

    private AttachedLoss() {}

    /** The output with the loss, one number. */
    static Tensor attach(Tensor output, Tensor loss) {
        return AutogradBridge.instance().apply(FUNCTION, List.of(output, loss)).getFirst();
    }

    @Override
    public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
        context.save(inputs.get(1));
        return List.of(inputs.getFirst().clone());
    }

    @Override
    public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
        Tensor one = torch.zeros_like(context.saved(0)).add(new Scalar(1.0));
        return Arrays.asList(gradients.getFirst(), one);
    }
}
