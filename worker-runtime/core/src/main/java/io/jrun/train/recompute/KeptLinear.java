package io.jrun.train.recompute;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.layer.LinearLayer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A linear map whose output is known. The forward pass computes nothing. The backward pass computes the gradients of
 * {@code torch.linear}, bit for bit.
 *
 * @param output the output, kept since the first computation
 * @param isTransposed whether the weight is [inputs, outputs]
 */
record KeptLinear(Tensor output, boolean isTransposed) implements AutogradFunction {
    static Tensor apply(Tensor x, LinearLayer layer, Tensor output) {
        List<Tensor> inputs = new ArrayList<>(List.of(x, layer.weight()));
        Tensor bias = layer.bias();
        if (bias != null) {
            inputs.add(bias);
        }
        return AutogradBridge.instance()
                .apply(new KeptLinear(output, layer.layout() == LinearLayer.Layout.CONV1D), inputs)
                .getFirst();
    }

    @Override
    public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
        context.save(inputs.toArray(Tensor[]::new));
        return List.of(output.detach());
    }

    @Override
    public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
        List<@Nullable Tensor> results = new ArrayList<>(Arrays.asList(new Tensor[context.savedCount()]));
        Tensor gradient = gradients.getFirst();
        if (gradient == null) {
            return results;
        }
        Tensor x = context.saved(0);
        Tensor weight = context.saved(1);
        Tensor g = gradient.reshape(-1, gradient.size(-1)); // Autocast computes in the type of the output.
        if (context.needsGradient(0)) {
            Tensor typed = weight.to(g.scalar_type());
            results.set(0, g.mm(isTransposed ? typed.t() : typed).view_as(x).to(x.scalar_type()));
        }
        if (context.needsGradient(1)) {
            Tensor flat = x.to(g.scalar_type()).reshape(-1, x.size(-1));
            Tensor product = isTransposed ? flat.t().mm(g) : g.t().mm(flat);
            results.set(1, product.to(weight.scalar_type()));
        }
        if (context.savedCount() > 2 && context.needsGradient(2)) {
            results.set(2, g.sum(0).to(context.saved(2).scalar_type()));
        }
        return results;
    }
}
