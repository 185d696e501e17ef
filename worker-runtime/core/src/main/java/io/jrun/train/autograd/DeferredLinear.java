package io.jrun.train.autograd;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A linear map whose weight gradients can come after the backward pass. Within a scope of {@link DeferredGradients} the
 * backward pass computes the gradient of the input and keeps the rest for {@link DeferredGradients#compute}. Without a
 * scope the map is {@code torch.linear}, bit for bit.
 */
public final class DeferredLinear {
    private DeferredLinear() {}

    /**
     * {@code x W^T + b}.
     *
     * @param x [..., inputs]
     * @param weight [outputs, inputs], a leaf
     */
    public static Tensor linear(Tensor x, Tensor weight, @Nullable Tensor bias) {
        return linear(x, weight, bias, false);
    }

    /**
     * A map with a choice of the layout.
     *
     * @param x [..., inputs]
     * @param weight a leaf: [outputs, inputs], or [inputs, outputs] if {@code isTransposed}
     */
    public static Tensor linear(Tensor x, Tensor weight, @Nullable Tensor bias, boolean isTransposed) {
        DeferredGradients deferred = DeferredGradients.current();
        if (deferred == null || !weight.requires_grad()) {
            return plain(x, weight, bias, isTransposed);
        }
        List<Tensor> inputs = new ArrayList<>(List.of(x, weight));
        if (bias != null) {
            inputs.add(bias);
        }
        return AutogradBridge.instance()
                .apply(
                        new LinearFunction(
                                deferred,
                                weight,
                                bias,
                                isTransposed,
                                x.scalar_type().intern()),
                        inputs)
                .getFirst();
    }

    private static Tensor plain(Tensor x, Tensor weight, @Nullable Tensor bias, boolean isTransposed) {
        Tensor matrix = isTransposed ? weight.t() : weight;
        if (bias == null) {
            return torch.linear(x, matrix);
        }
        try (TensorOptional optional = new TensorOptional(bias)) {
            return torch.linear(x, matrix, optional);
        }
    }

    /**
     * Weight and bias are inputs, so the call is recorded also where x requires no gradient. They get none from the
     * call.
     */
    private record LinearFunction(
            DeferredGradients deferred,
            Tensor weight,
            @Nullable Tensor bias,
            boolean isTransposed,
            torch.ScalarType inputType)
            implements AutogradFunction {
        @Override
        public String name() {
            return "DeferredLinear";
        }

        @Override
        public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
            Tensor x = inputs.getFirst();
            Tensor y = plain(x, inputs.get(1), inputs.size() > 2 ? inputs.get(2) : null, isTransposed);
            // Autocast computes in the type of y.
            context.save(x.to(y.scalar_type()));
            return List.of(y);
        }

        @Override
        public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
            List<@Nullable Tensor> results = new ArrayList<>();
            results.add(null);
            results.add(null);
            if (bias != null) {
                results.add(null);
            }
            Tensor gradient = gradients.getFirst();
            if (gradient == null) {
                return results;
            }
            Tensor x = context.saved(0);
            Tensor g = gradient.reshape(-1, gradient.size(-1));
            deferred.add(weight, bias, isTransposed, x.reshape(-1, x.size(-1)), g);
            if (context.needsGradient(0)) {
                Tensor typed = weight.detach().to(g.scalar_type());
                Tensor product = g.mm(isTransposed ? typed.t() : typed);
                results.set(0, product.view_as(x).to(inputType));
            }
            return results;
        }
    }
}
